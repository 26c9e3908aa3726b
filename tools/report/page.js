'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);

/* ---- small things -------------------------------------------------------------- */

function element(tag, members = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(members)) {
    if (key in made) made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit++; }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}

/* Nothing where nobody has told: that is not zero. */
const optionalBytes = bytes => bytes === undefined ? '' : bytesText(bytes);

function timeText(ns) {
  if (ns >= 1e9) return `${(ns / 1e9).toFixed(3)} s`;
  if (ns >= 1e6) return `${(ns / 1e6).toFixed(3)} ms`;
  if (ns >= 1e3) return `${(ns / 1e3).toFixed(2)} µs`;
  return `${Math.round(ns)} ns`;
}

/* "rank 2 (process 4242)", as the launcher of a distributed job has named it. */
function nameOf(process) {
  const known = data.survey.processes.find(one => one.pid === process.pid) || {};
  return known.rank ? `rank ${known.rank} (process ${process.pid})` : `process ${process.pid}`;
}

const summaryOf = process => data.summaries.find(one => one.pid === process.pid) || {};
const countText = number => Number(number || 0).toLocaleString('en-US');
const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function decodeBase64(text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/* Five varints a slice: see tools/report/slices.h. */
function decodeSlices(text, count) {
  const bytes = decodeBase64(text), slices = {
    count, start: new Float64Array(count), end: new Float64Array(count),
    track: new Uint32Array(count), name: new Uint32Array(count), id: new Float64Array(count)};
  let at = 0, start = 0, id = 0;
  const varint = () => {
    let value = 0, scale = 1, byte;
    do { byte = bytes[at++]; value += (byte & 127) * scale; scale *= 128; } while (byte & 128);
    return value;
  };
  const signed = value => value % 2 ? -(value + 1) / 2 : value / 2;
  for (let i = 0; i < count; i++) {
    start += signed(varint());
    slices.start[i] = start;
    slices.end[i] = start + varint();
    slices.track[i] = varint();
    slices.name[i] = varint();
    id += signed(varint());
    slices.id[i] = id;
  }
  return slices;
}

/* A canvas whose drawing matches the screen's pixels. */
function prepare(canvas, height) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth || 1160;
  canvas.style.height = `${height}px`;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext('2d');
  pen.scale(scale, scale);
  pen.font = '12px system-ui, "DejaVu Sans", sans-serif';
  pen.textBaseline = 'middle';
  return {pen, width, height};
}

/* ---- head ------------------------------------------------------------------------ */

const sections = [...document.querySelectorAll('main section')];

/* Processes that train together take the same steps; then their sum says little. */
function stepsText(survey) {
  const steps = survey.processes.map(process => process.steps || 0).filter(count => count > 0);
  if (steps.length < 2) return countText(survey.steps);
  return steps.every(count => count === steps[0]) && steps[0] * steps.length === survey.steps ?
    `${countText(steps[0])}, in each of ${steps.length} processes` :
    `${countText(survey.steps)} of ${steps.length} processes in all`;
}

function showHead() {
  const survey = data.survey, run = survey.run || {}, first = survey.processes[0] || {};
  const command = run.command ? run.command.join(' ') : first.command || '';
  $('command').textContent = command;
  document.title = `reprise: ${command}`;
  const launches = survey.launches || Object.values(survey.kernels || {})
    .reduce((sum, kernel) => sum + (kernel.launches || 0), 0);
  const figures = [
    ['mode', first.mode || run.mode || 'observe'], ['device', run.device || first.device || ''],
    ['processes', countText(survey.processes.length)],
    ['steps', survey.steps === undefined ? '' : stepsText(survey)],
    ['launches', countText(launches)],
    ['device memory of the job at its peak', bytesText(data.processes.reduce(
      (sum, process) => sum + Math.max(...process.live_bytes, 0), 0))],
    ['preserved', optionalBytes(survey.bytes_preserved)],
    ['held at most', optionalBytes(survey.bytes_held_peak)],
    ['hazards', data.replays || data.hazards.length || data.hidden ?
      countText(data.hazards.filter(counts).length) : 'nothing was checked']];
  for (const [name, value] of figures) {
    if (value === '') continue;
    $('figures').append(element('div', {}, element('dt', {textContent: name}), element('dd', {
      textContent: value, className: name === 'hazards' && !/^0$|^n/.test(value) ? 'bad' : ''})));
  }
  $('diff').hidden = !data.old;
  sections.filter(section => !section.hidden).forEach((section, at) => {
    const title = section.querySelector('h2').textContent;
    $('nav').append(element('a', {href: `#${section.id}`, textContent: `${at + 1} ${title}`}));
  });
}

/* What the page can't show, for it isn't in the data. */
function gapsOf(process) {
  const summary = summaryOf(process);
  const lost = Math.max(process.lost || 0, summary.trace_lost || 0), gaps = [];
  if (process.broken) gaps.push(`not all of its trace could be read: ${process.broken}`);
  if (lost) gaps.push(`${countText(lost)} events were lost`);
  if (process.first_event)
    gaps.push(`of its trace only the end was kept; the ${countText(process.first_event)} events ` +
      'before are not there');
  return gaps;
}

function showDamage() {
  const texts = data.survey.processes.flatMap(process =>
    gapsOf(process).map(gap => `${nameOf(process)}: ${gap}`));
  if (data.damaged && !data.survey.processes.some(process => process.broken))
    texts.push('A file of the run could not be read; what it held is missing here.');
  if (texts.length) texts.push('All that is below is of what is left.');
  if (data.filter)
    texts.push(`A part of the run: what passes ${data.filter}. Only memory is shown as a whole.`);
  $('damage').append(...texts.map(textContent => element('p', {textContent})));
}

/* ---- timeline ------------------------------------------------------------------- */

const LANE = 26, LABEL = 150, AXIS = 22;
const hues = new Map();

function hueOf(name) {
  if (!hues.has(name)) {
    let hash = 0;
    for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
    hues.set(name, hash % 360);
  }
  return hues.get(name);
}

const timeline = {process: null, from: 0, to: 1, chosen: -1};

function loadProcess(process) {
  if (!process.decoded) {
    process.decoded = decodeSlices(process.slices, process.slice_count);
    const order = process.tracks.map((name, at) => [name, at]);
    const rank = name => name === 'segments' ? 0 : name === 'reprise' ? 1 : 2;
    order.sort((a, b) => rank(a[0]) - rank(b[0]) || a[0].localeCompare(b[0]));
    process.lane = new Uint32Array(process.tracks.length);
    process.order = order.map(([name, at], lane) => { process.lane[at] = lane; return name; });
  }
  Object.assign(timeline, {process, from: 0, to: process.end_ns, chosen: -1});
  drawTimeline();
}

function laneColor(name, lane) {
  if (lane === 'reprise') return name === 'preserve' ? color('--held') : color('--restored');
  return `hsl(${hueOf(name)} 45% ${lane === 'segments' ? 62 : 52}%)`;
}

/* Slices that are narrower than a pixel share it: only the first one of each pixel is drawn. */
function drawSlices(pen, width, x) {
  const {process, from, to, chosen} = timeline, slices = process.decoded;
  const drawn = process.order.map(() => -1);
  for (let i = 0; i < slices.count; i++) {
    if (slices.end[i] < from || slices.start[i] > to) continue;
    const lane = process.lane[slices.track[i]], left = Math.max(LABEL, x(slices.start[i]));
    const right = Math.min(width, Math.max(left + 1, x(slices.end[i])));
    if (right <= drawn[lane] && i !== chosen) continue;
    drawn[lane] = right;
    const name = process.names[slices.name[i]], top = AXIS + lane * LANE + 3;
    pen.fillStyle = i === chosen ? color('--bad') : laneColor(name, process.order[lane]);
    pen.fillRect(left, top, right - left, LANE - 6);
    if (right - left > 46) {
      pen.fillStyle = '#fff';
      pen.save();
      pen.beginPath();
      pen.rect(left + 3, top, right - left - 6, LANE);
      pen.clip();
      pen.fillText(name, left + 4, top + (LANE - 6) / 2);
      pen.restore();
    }
  }
}

function drawMarks(pen, width, height, x) {
  let last = -100;
  for (const [time, kind, , fields] of timeline.process.marks) {
    const at = x(time);
    if (at < LABEL || at > width) continue;
    const hazard = kind === 'hazard';
    pen.fillStyle = hazard ? color('--bad') : color('--line');
    pen.fillRect(at, hazard ? 0 : AXIS - 6, hazard ? 2 : 1, height);
    if (!hazard && at - last > 34) {
      pen.fillStyle = color('--faint');
      pen.fillText(fields.step, at + 3, AXIS - 11);
      last = at;
    }
  }
}

function drawTimeline() {
  const {process, from, to} = timeline;
  if (!process) return;
  const {pen, width, height} = prepare($('lanes'), AXIS + process.order.length * LANE + 20);
  const x = time => LABEL + (time - from) / (to - from) * (width - LABEL);
  drawMarks(pen, width, height - 20, x);
  drawSlices(pen, width, x);
  pen.fillStyle = color('--panel');
  pen.fillRect(0, 0, LABEL - 2, height);
  pen.fillStyle = color('--ink');
  process.order.forEach((name, lane) => pen.fillText(name, 8, AXIS + lane * LANE + LANE / 2));
  pen.fillStyle = color('--faint');
  pen.fillText('step', 8, AXIS / 2);
  pen.fillText(timeText(from), LABEL, height - 9);
  const end = timeText(to);
  pen.fillText(end, width - pen.measureText(end).width - 6, height - 9);
}

function moveTo(from, to) {
  const end = timeline.process.end_ns, length = Math.min(Math.max(to - from, 100), end);
  timeline.from = Math.min(Math.max(from, 0), end - length);
  timeline.to = timeline.from + length;
  drawTimeline();
}

function zoom(factor, at = (timeline.from + timeline.to) / 2) {
  moveTo(at - (at - timeline.from) * factor, at + (timeline.to - at) * factor);
}

function timeAt(event) {
  const box = $('lanes').getBoundingClientRect();
  const part = (event.clientX - box.left - LABEL) / (box.width - LABEL);
  return timeline.from + part * (timeline.to - timeline.from);
}

function describe(i) {
  const {process} = timeline, slices = process.decoded;
  timeline.chosen = i;
  $('detail').textContent = i < 0 ? '' :
    `${process.names[slices.name[i]]} on ${process.tracks[slices.track[i]]}, ` +
    `${timeText(slices.start[i])} after the start, ${timeText(slices.end[i] - slices.start[i])}\n` +
    `event ${slices.id[i]} of ${nameOf(process)}: reprise dump --calls ${slices.id[i]}`;
  drawTimeline();
}

function choose(event) {
  const {process} = timeline, slices = process.decoded, time = timeAt(event);
  const box = $('lanes').getBoundingClientRect();
  const lane = Math.floor((event.clientY - box.top - AXIS) / LANE);
  const slack = (timeline.to - timeline.from) / (box.width - LABEL) * 2;
  let best = -1;
  for (let i = 0; i < slices.count; i++) {
    if (process.lane[slices.track[i]] === lane && slices.start[i] - slack <= time &&
        slices.end[i] + slack >= time &&
        (best < 0 || slices.end[i] - slices.start[i] < slices.end[best] - slices.start[best]))
      best = i;
  }
  describe(best);
}

/* The slice of an event, or the moment of a hazard, in the middle of the picture. */
function goTo(process, time) {
  if (timeline.process !== process) loadProcess(process);
  const length = Math.min(process.end_ns, Math.max(process.end_ns / 200, 1000));
  moveTo(time - length / 2, time + length / 2);
  $('timeline').scrollIntoView();
  $('lanes').focus({preventScroll: true});
}

function listenToTimeline() {
  const canvas = $('lanes');
  let drag = null;
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
  }, {passive: false});
  canvas.addEventListener('pointerdown', event => {
    drag = {x: event.clientX, from: timeline.from, to: timeline.to, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    if (!drag || (!drag.moved && Math.abs(event.clientX - drag.x) < 4)) return;
    drag.moved = true;
    const shift = (event.clientX - drag.x) / (canvas.clientWidth - LABEL) * (drag.to - drag.from);
    moveTo(drag.from - shift, drag.to - shift);
  });
  canvas.addEventListener('pointerup', event => {
    if (drag && !drag.moved) choose(event);
    drag = null;
  });
}

function showTimeline() {
  if (data.processes.length > 1) {
    const select = element('select', {'aria-label': 'process'});
    data.processes.forEach((process, at) => select.append(element('option', {
      value: at, textContent: `${nameOf(process)}  ${process.command}`})));
    select.addEventListener('change', () => loadProcess(data.processes[select.value]));
    $('picker').append(select);
  }
  listenToTimeline();
  if (data.processes.length) loadProcess(data.processes[0]);
}

/* ---- memory ---------------------------------------------------------------------- */

/* What job and layer were to take together: all that was allowed, or else what a plan aimed at. */
function limitOf(process) {
  const {budget_bytes: budget, plan} = summaryOf(process);
  if (budget) return {bytes: budget, text: `budget ${bytesText(budget)}`};
  const planned = (plan || {}).planned_peak_bytes;
  return planned ? {bytes: planned, text: `planned ${bytesText(planned)}`} : null;
}

function drawArea(pen, heights, base, top, width, height, fill) {
  pen.fillStyle = fill;
  pen.beginPath();
  pen.moveTo(0, height);
  const y = value => height - value / top * (height - 16);
  heights.forEach((value, i) => {
    pen.lineTo(i / heights.length * width, y(base[i] + value));
    pen.lineTo((i + 1) / heights.length * width, y(base[i] + value));
  });
  pen.lineTo(width, height);
  pen.fill();
}

/* A line that far above would leave nothing to be seen of what lies below. */
const isFar = (limit, peak) => limit.bytes > 4 * Math.max(peak, 1);

function drawMemory(canvas, process) {
  const {pen, width, height} = prepare(canvas, 150);
  const live = process.live_bytes, held = process.held_bytes, limit = limitOf(process);
  const peak = Math.max(...live.map((value, i) => value + held[i]), 0);
  const top = Math.max(peak, limit && !isFar(limit, peak) ? limit.bytes : 0, 1);
  drawArea(pen, held, live, top, width, height, color('--held'));
  drawArea(pen, live, live.map(() => 0), top, width, height, color('--accent'));
  pen.fillStyle = color('--ink');
  pen.fillText(`${bytesText(peak)} at the peak, with what the layer holds`, 8, 9);
  if (limit && isFar(limit, peak)) {
    const text = `${limit.text}, far above`;
    pen.fillStyle = color('--bad');
    pen.fillText(text, width - pen.measureText(text).width - 8, 9);
  } else if (limit) {
    const at = height - limit.bytes / top * (height - 16);
    pen.fillStyle = color('--bad');
    pen.fillRect(0, at, width, 1.5);
    pen.fillText(limit.text, width - pen.measureText(limit.text).width - 8, at + 9);
  }
}

/* What the layer reserves is in no trace; the most that it came to is in the summary. */
function memoryCaption(process) {
  const summary = summaryOf(process), limit = limitOf(process);
  const most = values => `(at most ${bytesText(Math.max(...values, 0))})`;
  let text = `${nameOf(process)}: device memory of the job ${most(process.live_bytes)} and, ` +
    `on top, the copies that the layer holds ${most(process.held_bytes)}.`;
  const peak = Math.max(...process.live_bytes.map((value, i) => value + process.held_bytes[i]), 0);
  if (limit)
    text += isFar(limit, peak) ? ` Far above it: ${limit.text}.` : ` The line: ${limit.text}.`;
  if (summary.bytes_reserved || limit)
    text += ' What the layer has reserved or retains beyond these copies counts against a budget ' +
      'too and is not drawn' +
      (summary.device_peak_bytes === undefined ? '.' :
        `; all together took ${bytesText(summary.device_peak_bytes)} at most.`);
  return text;
}

function showMemory() {
  for (const process of data.processes) {
    const canvas = element('canvas', {role: 'img',
      'aria-label': `memory of process ${process.pid}`});
    $('memories').append(element('figure', {}, element('figcaption', {textContent:
      memoryCaption(process)}), canvas));
    drawMemory(canvas, process);
  }
}

/* ---- dirty maps -------------------------------------------------------------------- */

function drawMap(canvas, map, times, places) {
  canvas.width = times;
  canvas.height = places;
  const pen = canvas.getContext('2d'), cells = decodeBase64(map.cells);
  const write = color('--write'), held = color('--held'), restored = color('--restored');
  for (let place = 0; place < places; place++) {
    for (let time = 0; time < times; time++) {
      const cell = cells[place * times + time], level = cell & 63;
      if (!cell) continue;
      pen.globalAlpha = cell >> 6 ? 1 : Math.min(1, 0.25 + level / 8);
      pen.fillStyle = cell & 64 ? held : cell & 128 ? restored : write;
      pen.fillRect(time, place, 1, 1);
    }
  }
}

function showMaps() {
  let count = 0;
  for (const process of data.processes) {
    for (const map of process.dirty.maps) {
      const canvas = element('canvas', {role: 'img',
        'aria-label': `writes to allocation ${map.allocation}`});
      const name = map.name || `allocation ${map.allocation}`;
      $('maps').append(element('figure', {}, element('figcaption', {textContent:
        `${name}, ${map.kind}, ${bytesText(map.bytes)}` +
        (data.processes.length > 1 ? `, ${nameOf(process)}` : '')}), canvas));
      drawMap(canvas, map, process.dirty.times, process.dirty.places);
      count++;
    }
  }
  if (!count) $('maps').append('Nothing was written that the trace knows of.');
}

/* ---- hazards, plan, kernels, the earlier run ------------------------------------------ */

function markOf(hazard) {
  for (const process of data.processes) {
    if (hazard.pid && process.pid !== hazard.pid) continue;
    for (const mark of process.marks)
      if (mark[1] === 'hazard' && mark[3].hazard === hazard.hazard &&
          mark[3].segment === (hazard.segment || '') && mark[3].buffer === (hazard.buffer || ''))
        return {process, mark};
  }
  return null;
}

function counts(hazard) {
  return !hazard.harmless && hazard.hazard !== 'assumed';
}

/* Who read what, and who had written it: in a sentence. */
function storyOf(hazard) {
  const parts = [];
  if (hazard.reader) parts.push(hazard.reader);
  parts.push(`in step ${hazard.step}`);
  if (hazard.bytes)
    parts.push(`bytes ${countText(hazard.offset)} to ` +
               countText(hazard.offset + hazard.bytes - 1));
  if (hazard.version_wanted !== undefined)
    parts.push(`version ${hazard.version_read} where ${hazard.version_wanted} was wanted`);
  if (hazard.writer)
    parts.push(`written by ${hazard.writer} in step ${hazard.writer_step}`);
  if (hazard.rank !== undefined) parts.push(`rank ${hazard.rank}`);
  if (hazard.count > 1) parts.push(`${countText(hazard.count)} times in all`);
  return parts.join(', ');
}

/* That there are none says something only where replays were followed. */
function noHazards() {
  if (data.hidden)
    return `None of this run's ${countText(data.hidden)} hazards passes ${data.filter}.`;
  const unvouched = data.survey.unknown.filter(one => one.unvouched || one.unseen).length;
  if (data.replays)
    return `None were found: ${countText(data.replays)} replays were followed` + (!unvouched ? '.' :
      `; what ${countText(unvouched)} call(s) may have read is not vouched for.`);
  return 'Nothing was checked: ' + (data.contract ? 'no replay of a segment was seen.' :
    'this run had no contract, so no replay was followed.');
}

function showHazards() {
  if (!data.hazards.length) $('hazard-list').append(noHazards());
  for (const hazard of data.hazards) {
    const found = markOf(hazard), rows = element('table');
    for (const [key, value] of Object.entries(hazard)) {
      if (value === '' || ['hazard', 'advice', 'order'].includes(key)) continue;
      rows.append(element('tr', {}, element('th', {textContent: key.replaceAll('_', ' ')}),
        element('td', {textContent: String(value)})));
    }
    const title = `${hazard.hazard}${hazard.segment ? ` in segment ${hazard.segment}` : ''}` +
      `${hazard.buffer ? `: ${hazard.buffer}` : ''}`;
    const box = element('article', {className: counts(hazard) ? '' : 'harmless'},
      element('h3', {textContent: title}));
    const story = storyOf(hazard);
    if (story) box.append(element('p', {textContent: story}));
    if (hazard.advice) box.append(element('p', {className: 'hint', textContent: hazard.advice}));
    const more = element('div', {className: 'more'});
    if (found) {
      const link = element('a', {href: '#timeline', textContent: 'show it on the timeline'});
      link.addEventListener('click', event => {
        event.preventDefault();
        goTo(found.process, found.mark[0]);
      });
      more.append(link);
    }
    more.append(element('details', {}, element('summary', {textContent: 'every detail'}), rows));
    box.append(more);
    $('hazard-list').append(box);
  }
}

function table(head, rows) {
  const numeric = value => typeof value === 'number';
  const kind = value => numeric(value) ? 'n' : '';
  const title = (name, at) =>
    element('th', {textContent: name, className: rows.length ? kind(rows[0][at]) : ''});
  const cell = value => element('td', {
    textContent: numeric(value) ? countText(value) : value, className: kind(value)});
  return element('table', {},
    element('thead', {}, element('tr', {}, ...head.map(title))),
    element('tbody', {}, ...rows.map(row => element('tr', {}, ...row.map(cell)))));
}

/* What was planned beside what was measured, and how far they are apart. */
function planRow(name, planned, measured, text) {
  const apart = planned && measured ? `${((measured / planned - 1) * 100).toFixed(1)} %` : '';
  return [name, planned === undefined ? '' : text(planned),
    measured === undefined ? '' : text(measured), apart];
}

/* "optimal, in force; found in 3 plans; needs 1.2 MiB at least; measured over 5 steps" */
function planWords(plan) {
  const words = [plan.answer, plan.in_force ? 'in force' : 'not in force', plan.reason];
  if (plan.plans > 1) words.push(`${countText(plan.plans)} were made`);
  if (plan.min_budget_bytes !== undefined)
    words.push(`the least budget is ${bytesText(plan.min_budget_bytes)}`);
  if (plan.steps) words.push(`measured over ${countText(plan.steps)} steps`);
  return words.filter(Boolean).join('; ');
}

function showPlan() {
  const names = Object.entries(data.survey.segments || {});
  if (names.length)
    $('plan-table').append(table(['segment', 'forwards', 'replays', 'not replayed', 'refused'],
      names.map(([name, one]) => [name, one.forwards || 0, one.replays || 0, one.unreplayed || 0,
        one.refused || ''])));
  const plans = data.summaries.filter(summary => summary.plan);
  for (const summary of plans) {
    const {choices, ...plan} = summary.plan;
    $('plan-table').append(element('h3', {textContent: `plan of ${nameOf(summary)}`}),
      element('p', {className: 'hint', textContent: planWords(plan)}),
      table(['of a step', 'planned', 'measured', 'apart'], [
        planRow('time', plan.planned_ns, plan.measured_ns, timeText),
        planRow('peak', plan.planned_peak_bytes, plan.measured_peak_bytes, bytesText)]));
    if (Object.keys(choices || {}).length)
      $('plan-table').append(table(['segment', 'choice'], Object.entries(choices)));
  }
  if (!plans.length)
    $('plan-table').append(element('p', {className: 'hint',
      textContent: 'No plan was in force in this run.'}));
}

function showKernels() {
  const rows = Object.entries(data.survey.kernels || {})
    .sort((a, b) => (b[1].launches || 0) - (a[1].launches || 0))
    .map(([name, kernel]) => {
      const verdicts = Object.entries(kernel.verdicts || {}).map(([word, count]) =>
        `${word} ${countText(count)}`).join(', ') || kernel.verdict || '';
      const what = element('td', {}, verdicts);
      if (kernel.proof)
        what.append(element('details', {}, element('summary', {textContent: 'proof'}),
          element('pre', {textContent: kernel.proof})));
      const row = element('tr', {}, element('td', {className: 'n',
        textContent: countText(kernel.launches)}), element('td', {textContent: name}), what);
      return {row, text: `${name} ${verdicts} ${kernel.proof || ''}`.toLowerCase()};
    });
  $('kernel-table').tBodies[0].append(...rows.map(one => one.row));
  const filter = () => {
    const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const {row, text} of rows) {
      row.hidden = !words.every(word => text.includes(word));
      shown += !row.hidden;
    }
    $('found').textContent = `${shown} of ${rows.length}`;
  };
  $('search').addEventListener('input', filter);
  filter();
}

function showDiff() {
  if (!data.old) return;
  const figures = survey => {
    const flat = {steps: survey.steps, launches: survey.launches, hazards: survey.hazards,
      'bytes preserved': survey.bytes_preserved, 'bytes held at most': survey.bytes_held_peak,
      'memory of every kind at its peak': (survey.allocations || {}).peak_bytes,
      allocations: (survey.allocations || {}).count};
    for (const [name, kernel] of Object.entries(survey.kernels || {}))
      flat[`launches of ${name}`] = kernel.launches;
    for (const [name, count] of Object.entries(survey.calls || {}))
      flat[`calls of ${name}`] = count;
    return flat;
  };
  const before = figures(data.old), now = figures(data.survey);
  const rows = [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .map(name => [name, before[name] || 0, now[name] || 0])
    .filter(([, a, b]) => a !== b)
    .sort((a, b) => Math.abs(b[2] - b[1]) - Math.abs(a[2] - a[1]))
    .map(([name, a, b]) => [name, a, b, a ? `${((b / a - 1) * 100).toFixed(1)} %` : 'new']);
  $('diff-table').append(rows.length ? table(['what', 'then', 'now', 'change'], rows) :
    'Nothing that is counted differs.');
}

/* ---- keys ---------------------------------------------------------------------------- */

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.tagName === 'INPUT' || event.target.tagName === 'SELECT') {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  const shown = sections.filter(section => !section.hidden), at = Number(event.key) - 1;
  const shift = (timeline.to - timeline.from) / 10;
  if (event.key === '/') $('search').focus();
  else if (shown[at]) { shown[at].scrollIntoView(); shown[at].focus({preventScroll: true}); }
  else if (!timeline.process) return;
  else if (event.key === 'ArrowLeft') moveTo(timeline.from - shift, timeline.to - shift);
  else if (event.key === 'ArrowRight') moveTo(timeline.from + shift, timeline.to + shift);
  else if (event.key === '+' || event.key === '=') zoom(0.7);
  else if (event.key === '-') zoom(1.4);
  else if (event.key === '0') moveTo(0, timeline.process.end_ns);
  else return;
  event.preventDefault();
}

showHead();
showDamage();
showTimeline();
showMemory();
showMaps();
showHazards();
showPlan();
showKernels();
showDiff();
document.addEventListener('keydown', onKey);
window.addEventListener('resize', drawTimeline);
