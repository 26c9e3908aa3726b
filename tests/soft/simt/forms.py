# SPDX-License-Identifier: Apache-2.0
"""Every spelling of the instructions that the interpreter claims, and many that are wrong.

A row of FAMILIES is a pattern and its operands. In patterns {a,b} is a choice and [.x] may be
left out. Operands: d and s stand for registers of the first and the last type in the spelling
(e: the one before the last), h r x p q for registers of 16, 32 and 64 bits, predicates and
pairs of them; m is memory, everything else is written as it stands.
"""
import itertools
import re

INT = '{u16,u32,u64,s16,s32,s64}'
INT_PLUS = '{u8,s8,u16,u32,u64,s16,s32,s64,b32,f32}'
BITS = '{pred,b8,b16,b32,b64,u32}'
ROUND = '[.{rn,rz,rm,rp}]'
HALF = '{f16,f16x2,bf16,bf16x2}'
REAL = '{f16,f16x2,bf16,bf16x2,f32,f64}'
TYPES = '{b16,b32,b64,u16,u32,u64,s16,s32,s64,f16,bf16,f16x2,bf16x2,f32,f64}'
CVT_INT = '{u8,u16,u32,u64,s8,s16,s32,s64}'
CVT_REAL = '{f16,bf16,f32,f64}'
ORDER = '[.{relaxed,acquire,release,acq_rel}]'
SCOPE = '[.{cta,cluster,gpu,sys}]'
SHAPES = '{m16n16k16,m8n32k16,m32n8k16,m16n16k8,m8n8k4,m8n8k32}'

FAMILIES = [
    # integers
    ('{add,sub}[.sat].{u8,u16,u32,u64,s16,s32,s64,u16x2,s16x2,b32}', 'd,s,s'),
    ('{add,sub}.cc.{u32,s32,u64,s64,u16}', 'd,s,s'),
    ('{addc,subc}[.cc].{u32,s32,u64,s64,u16}', 'd,s,s'),
    ('mul.{hi,lo}.' + INT, 'd,s,s'), ('mul.' + INT, 'd,s,s'),
    ('mul.wide.{u16,s16}', 'r,s,s'), ('mul.wide.{u32,s32}', 'x,s,s'), ('mul.wide.u64', 'x,s,s'),
    ('mad.{hi,lo}[.sat].' + INT, 'd,s,s,s'),
    ('mad.wide.{u16,s16}', 'r,s,s,r'), ('mad.wide.{u32,s32}', 'x,s,s,x'),
    ('mad.{hi,lo}.cc.{u32,s32,u64,s64}', 'd,s,s,s'),
    ('madc.{hi,lo}[.cc].{u32,s32,u64,s64}', 'd,s,s,s'),
    ('mul24.{hi,lo}.{u32,s32,u16}', 'd,s,s'), ('mad24.{hi,lo}[.sat].{u32,s32}', 'd,s,s,s'),
    ('sad.' + INT, 'd,s,s,s'), ('{div,rem}.' + INT_PLUS, 'd,s,s'),
    ('{abs,neg}[.ftz].{s16,s32,s64,u32,f16,f16x2,bf16,bf16x2,f32,f64}', 'd,s'),
    ('{min,max}[.relu].{u16,u32,u64,s16,s32,s64,u16x2,s16x2,b32}', 'd,s,s'),
    ('{popc,clz,brev}.{b32,b64,u32,b16}', 'D,s'),
    ('bfind[.shiftamt].{u32,u64,s32,s64,b32}', 'r,s'), ('fns.b32', 'r,r,r,r'),
    ('bfe.{u32,u64,s32,s64,b32}', 'd,s,r,r'), ('bfi.{b32,b64,u32}', 'd,s,s,r,r'),
    ('szext.{clamp,wrap}.{u32,s32}', 'r,r,r'), ('bmsk.{clamp,wrap}.b32', 'r,r,r'),
    ('dp4a.{u32,s32}.{u32,s32}', 'r,r,r,r'), ('dp2a[.{lo,hi}].{u32,s32}.{u32,s32}', 'r,r,r,r'),
    ('{and,or,xor}.' + BITS, 'd,s,s'), ('{not,cnot}.' + BITS, 'd,s'),
    ('lop3[.{and,or}].{b32,b64}', 'd,s,s,s,0x96'),
    ('lop3.{and,or}.b32', 'L,r,r,r,0x96,p'),
    ('shl.{b16,b32,b64,u32,s32}', 'd,s,r'), ('shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64}', 'd,s,r'),
    ('shf.{l,r}[.{clamp,wrap}].{b32,b64}', 'd,s,s,r'),
    ('prmt.b32[.{f4e,b4e,rc8,ecl,ecr,rc16}]', 'r,r,r,r'),
    ('v{add,sub,absdiff,min,max}.{u32,s32}.{u32,s32}.{u32,s32}[.sat]', 'r,r.b0,r.h1'),
    ('v{add,sub,absdiff,min,max}.{u32,s32}.{u32,s32}.{u32,s32}', 'r,r,r'),
    ('v{add,sub,absdiff,min,max}.{u32,s32}.{u32,s32}.u32[.sat].{add,min,max}', 'r,r.b1,r.h0,r'),
    ('v{add,sub,absdiff,min,max}.u32.{u32,s32}.s32.sat', 'r.b2,r.b3,r,r'),
    ('v{shl,shr}.{u32,s32}.{u32,s32}.u32[.sat].{clamp,wrap}', 'r,r.b1,r'),
    ('v{shl,shr}.{u32,s32}.u32.u32.{clamp,wrap}.{add,min,max}', 'r,r.b1,r.b0,r'),
    ('vmad.{u32,s32}.{u32,s32}.{u32,s32}[.sat][.{shr7,shr15}]', 'r,r.b0,r.h0,r'),
    ('vset.{u32,s32}.{u32,s32}.{eq,ne,lt,le,gt,ge}', 'r,r.b0,r.h0'),
    ('vset.{u32,s32}.u32.lt.{add,min,max}', 'r,r.b0,r.h0,r'),
    ('v{add,sub,avrg,absdiff,min,max}2.{u32,s32}.{u32,s32}.{u32,s32}[.sat]', 'r,r,r,r'),
    ('v{add,sub,avrg,absdiff,min,max}4.{u32,s32}.{u32,s32}.{u32,s32}[.sat]', 'r,r,r,r'),
    ('v{add,sub,avrg,absdiff,min,max}{2,4}.{u32,s32}.u32.u32.add', 'r,r,r,r'),
    ('vset{2,4}.{u32,s32}.{u32,s32}.{eq,ne,lt,le,gt,ge}[.add]', 'r,r,r,r'),
    # reals
    ('{add,sub,mul}' + ROUND + '[.ftz][.sat].{f32,f64}', 'd,s,s'),
    ('{add,sub,mul}[.{rn,rz}][.ftz][.sat].' + HALF, 'd,s,s'),
    ('{add,sub,mul}' + ROUND + '[.ftz].f32x2', 'x,x,x'),
    ('fma' + ROUND + '[.ftz].f32x2', 'x,x,x,x'),
    ('{add,sub}[.{rn,rz,rm,rp}][.sat].f32.{f16,bf16}', 'r,h,r'),
    ('fma[.{rn,rz}][.sat].f32.{f16,bf16}', 'r,h,h,r'),
    ('fma' + ROUND + '[.ftz][.sat].{f32,f64}', 'd,s,s,s'),
    ('mad' + ROUND + '[.ftz][.sat].{f32,f64}', 'd,s,s,s'),
    ('fma[.{rn,rz}][.ftz][.sat][.relu][.oob].' + HALF, 'd,s,s,s'),
    ('div[.{approx,full,rn,rz,rm,rp}][.ftz].{f32,f64}', 'd,s,s'),
    ('{rcp,sqrt}[.{approx,rn,rz,rm,rp}][.ftz].{f32,f64}', 'd,s'),
    ('rsqrt[.{approx,rn}][.ftz].{f32,f64}', 'd,s'),
    ('{sin,cos,lg2}[.approx][.ftz].{f32,f64}', 'd,s'),
    ('{ex2,tanh}[.approx][.ftz].{f16,f16x2,bf16,bf16x2,f32}', 'd,s'),
    ('copysign.{f32,f64,f16}', 'd,s,s'),
    ('{min,max}[.ftz][.NaN][.xorsign.abs].' + REAL, 'd,s,s'),
    ('{min,max}[.ftz][.NaN][.abs].f32', 'd,s,s,s'),
    ('testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64,f16}', 'p,s'),
    # comparisons and moves
    ('setp.{eq,ne,lt,le,gt,ge,lo,ls,hi,hs,equ,neu,ltu,leu,gtu,geu,num,nan}[.ftz].'
     '{b16,b32,b64,u16,u32,u64,s16,s32,s64,f16,bf16,f32,f64}', 'p,s,s'),
    ('setp.{eq,lt,neu,nan}.{and,or,xor}[.ftz].{b32,u64,f16,bf16,f32,f64}', 'q,s,s,!p'),
    ('setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}[.ftz].{f16x2,bf16x2}', 'q,s,s'),
    ('setp.{eq,lt,neu}.{and,or,xor}[.ftz].{f16x2,bf16x2}', 'q,s,s,p'),
    ('set.{eq,ne,lt,ltu,lo,num,nan}[.{and,or,xor}][.ftz].{u16,s16,u32,s32,f32,f64}.'
     '{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}', 'd,s,s,~p'),
    ('set.{eq,lt,ltu,nan}[.{and,or}][.ftz].{f16,bf16,u16,s16,u32,s32,f32}.{f16,bf16}', 'd,s,s,~p'),
    ('set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}[.ftz].{f16x2,bf16x2,u32,s32}.'
     '{f16x2,bf16x2}', 'd,s,s'),
    ('set.{eq,lt}.{and,xor}[.ftz].{f16x2,bf16x2}.{f16x2,bf16x2}', 'd,s,s,p'),
    ('selp.' + TYPES, 'd,s,s,p'),
    ('slct[.ftz].' + TYPES + '.{s32,f32}', 'd,d,d,r'),
    ('mov.{pred,b8,b16,b32,b64,u16,u32,u64,s16,s32,s64,f16,f32,f64,b128}', 'd,s'),
    ('mov.b32', 'r,{h,h}'), ('mov.b32', '{h,h},r'), ('mov.b64', 'x,{r,r}'), ('mov.b64', '{r,r},x'),
    ('mov.b64', 'x,{h,h,h,h}'), ('mov.b64', '{h,h,h,h},x'), ('mov.b64', '{r,_},x'),
    ('cvta[.to].{global,shared,local,const,param}.u64', 'd,s'),
    ('isspacep.{global,shared,local,const,param,shared::cta,shared::cluster}', 'p,x'),
    # conversions
    ('cvt[.{rn,rz,rni,rzi}][.sat].' + CVT_INT + '.' + CVT_INT, 'd,s'),
    ('cvt[.{rni,rzi,rmi,rpi,rn}][.ftz][.sat].' + CVT_INT + '.' + CVT_REAL, 'd,s'),
    ('cvt[.{rn,rz,rm,rp,rni}][.ftz][.sat].' + CVT_REAL + '.' + CVT_INT, 'd,s'),
    ('cvt[.{rn,rz,rm,rp,rni,rzi,rmi,rpi}][.ftz][.sat].' + CVT_REAL + '.' + CVT_REAL, 'd,s'),
    ('cvt[.{rn,rz}][.relu][.satfinite].{f16,bf16}.f32', 'd,s'),
    ('cvt[.{rn,rz}][.relu][.satfinite].{f16x2,bf16x2}.f32', 'd,s,s'),
    ('cvt[.{rn,rz,rna}][.satfinite][.relu].tf32.f32', 'r,r'),
    ('cvt[.{rn,rz}][.satfinite][.relu].{e4m3x2,e5m2x2}.f32', 'h,r,r'),
    ('cvt[.{rn,rz}][.satfinite][.relu].{e4m3x2,e5m2x2}.{f16x2,bf16x2}', 'h,r'),
    ('cvt[.rn][.satfinite][.relu].{f16x2,bf16x2}.{e4m3x2,e5m2x2}', 'r,h'),
    ('cvt.pack.sat.{u16,s16,u8,s8}.s32', 'r,r,r'),
    ('cvt.pack.sat.{u8,s8,u4,s4,u2,s2}.s32.b32', 'r,r,r,r'),
    # memory
    ('ld[.{weak,volatile}][.{global,shared,local,const,param}].{b8,b16,b32,b64,u8,u16,u32,u64,'
     's8,s16,s32,s64,f16,f32,f64}', 'd,m'),
    ('ld.{global,shared}.v2.{b8,b16,b32,b64,u8,s16,f32,f64}', '{d,d},m'),
    ('ld.{global,shared}.v4.{b8,b16,b32,b64,u8,s16,f32,f64}', '{d,d,d,d},m'),
    ('ld.global.v8.{b32,f32,u32}', '{d,d,d,d,d,d,d,d},m'),
    ('st[.{weak,volatile}][.{global,shared,local,const,param}].{b8,b16,b32,b64,u8,u16,u32,u64,'
     's8,s16,s32,s64,f16,f32,f64}', 'm,s'),
    ('st.{global,shared}.v2.{b8,b16,b32,b64,f32}', 'm,{s,s}'),
    ('st.{global,shared}.v4.{b8,b16,b32,b64,f32}', 'm,{s,s,s,s}'),
    ('ld.{relaxed,acquire}' + SCOPE + '[.global].{b32,u64,f32,b16,b8}', 'd,m'),
    ('ld.{release,mmio.relaxed.sys,mmio}[.global].b32', 'd,m'),
    ('st.{relaxed,release}' + SCOPE + '[.global].{b32,u64,f32,b16}', 'm,s'),
    ('ld.global[.{ca,cg,cs,lu,cv}].b32', 'd,m'), ('st.global[.{wb,cg,cs,wt}].b32', 'm,s'),
    ('ld.global[.{ca,cg,cs}].nc[.{L1::evict_last,L1::no_allocate}][.{L2::64B,L2::128B,L2::256B}].'
     '{b32,f32,u8,u64}', 'd,m'),
    ('ldu[.global].{b32,f64,u8}', 'd,m'), ('ldu.global.v4.f32', '{d,d,d,d},m'),
    ('atom' + ORDER + SCOPE + '[.global].{add,exch}.{u32,b32}', 'd,m,s'),
    ('atom[.{global,shared,local}].{add,min,max,inc,dec,and,or,xor,exch}.'
     '{b16,b32,b64,u32,s32,u64,s64,f32,f64}', 'd,m,s'),
    ('atom[.{global,shared}].cas.{b16,b32,b64,b128,u32}', 'd,m,s,s'),
    ('atom[.{global,shared}].{add,min,max}[.noftz].{f16,f16x2,bf16,bf16x2}', 'd,m,s'),
    ('red' + ORDER + SCOPE + '[.global].add.u32', 'm,s'),
    ('red[.{global,shared}].{add,min,max,inc,dec,and,or,xor}.{b32,b64,u32,s32,u64,s64,f32,f64}',
     'm,s'),
    ('red[.{global,shared}].{add,min,max}[.noftz].{f16,f16x2,bf16,bf16x2}', 'm,s'),
    ('atom.global.v2.{f32,f16,f16x2,bf16,bf16x2}.{add,min,max}[.noftz]', '{d,d},m,{s,s}'),
    ('atom.global.v4.{f32,f16,f16x2,bf16,bf16x2}.{add,min,max}[.noftz]', '{d,d,d,d},m,{s,s,s,s}'),
    ('atom.global.{add,min,max}[.noftz].v2.{f32,f16,f16x2,bf16,bf16x2}', '{d,d},m,{s,s}'),
    ('atom.global.{add,min,max}[.noftz].v4.{f32,f16,f16x2,bf16,bf16x2}', '{d,d,d,d},m,{s,s,s,s}'),
    ('atom.global.{add,min,max}[.noftz].v8.{f16,bf16}', '{d,d,d,d,d,d,d,d},m,{s,s,s,s,s,s,s,s}'),
    ('red.global.{add,min,max}[.noftz].v2.{f32,f16,f16x2,bf16,bf16x2}', 'm,{s,s}'),
    ('red.global.{add,min,max}[.noftz].v4.{f32,f16,f16x2,bf16,bf16x2}', 'm,{s,s,s,s}'),
    ('red.global.v2.{f32,f16x2}.add[.noftz]', 'm,{s,s}'), ('red.global.v4.f32.add', 'm,{s,s,s,s}'),
    ('red.async.relaxed.cluster.global.add.u32', 'm,s'),
    ('prefetch.{global.L1,global.L2,local.L1,L1,L2}', 'm'), ('prefetchu.L1', 'm'),
    ('membar.{cta,gl,sys,gpu}', ''), ('fence[.{sc,acq_rel,acquire,release}]' + SCOPE, ''),
    ('fence.proxy.{alias,async,async.global,async.shared::cta}', ''),
    ('cp.async.{ca,cg}.shared.global[.{L2::64B,L2::128B,L2::256B}]', 'm,m,{4,8,16,12}'),
    ('cp.async.{ca,cg}.shared.global', 'm,m,16,r'), ('cp.async.ca.shared.global', 'm,m,8,p'),
    ('cp.async.commit_group', ''), ('cp.async.wait_group', '{0,3}'), ('cp.async.wait_all', ''),
    ('cp.async.mbarrier.arrive[.noinc][.shared].b64', 'm'),
    ('mbarrier.init[.shared].b64', 'm,r'), ('mbarrier.inval[.shared].b64', 'm'),
    ('mbarrier.arrive[.shared].b64', 'x,m'), ('mbarrier.arrive[.shared].b64', 'x,m,r'),
    ('mbarrier.arrive.noComplete[.shared].b64', 'x,m,r'),
    ('mbarrier.arrive_drop[.shared].b64', 'x,m'),
    ('mbarrier.{test_wait,try_wait}[.shared].b64', 'p,m,x'),
    ('mbarrier.{test_wait,try_wait}.parity[.shared].b64', 'p,m,r'),
    ('mbarrier.pending_count.b64', 'r,x'), ('mbarrier.expect_tx.relaxed.cta.shared::cta.b64',
        'm,r'),
    ('mbarrier.arrive.expect_tx.release.cta.shared::cta.b64', 'x,m,r'),
    # control and lanes
    ('bar.{sync,arrive}', '{0,r}'), ('bar.sync', '{0,r},{32,r}'), ('bar.arrive', '{0,r},{32,r}'),
    ('bar.red.popc.u32', 'r,0,p'), ('bar.red.{and,or}.pred', 'p,0,!p'),
    ('bar.red.{and,or}.pred', 'p,0,64,p'), ('bar.warp.sync', '{0xffffffff,r}'),
    ('barrier[.cta].{sync,arrive}[.aligned]', '0,64'), ('barrier[.cta].red.popc[.aligned].u32',
        'r,0,p'),
    ('barrier.cluster.{arrive,wait}[.aligned]', ''),
    ('shfl[.sync].{up,down,bfly,idx}.{b32,b64}', 'd,s,r,r,-1'),
    ('shfl.sync.{up,down,bfly,idx}.b32', 'r|p,r,3,31,-1'),
    ('vote.sync.{all,any,uni}.pred', 'p,!p,-1'), ('vote.sync.ballot.b32', 'r,p,r'),
    ('vote.{all,any,uni}.pred', 'p,p'), ('match.{any,all}.sync.{b32,b64}', 'r,s,-1'),
    ('match.all.sync.{b32,b64}', 'r|p,s,-1'),
    ('redux.sync.{add,min,max,and,or,xor}.{u32,s32,b32}', 'r,r,-1'),
    ('redux.sync.{min,max}[.abs][.NaN].f32', 'r,r,-1'),
    ('activemask.b32', 'r'), ('elect.sync', 'r|p,-1'), ('nanosleep.u32', '{r,100}'),
    ('griddepcontrol.{launch_dependents,wait}', ''), ('setmaxnreg.inc.sync.aligned.u32', '64'),
    ('{exit,ret,trap,brkpt}', ''), ('pmevent', '1'), ('discard.global.L2', 'm,128'),
    ('applypriority.global.L2::evict_normal', 'm,128'),
        ('createpolicy.fractional.L2::evict_last.b64', 'x,1.0'),
    # matrices
    ('ldmatrix.sync.aligned.m8n8.x1[.trans][.shared].{b16,b8}', '{r},m'),
    ('ldmatrix.sync.aligned.m8n8.x2[.trans][.shared].{b16,b8}', '{r,r},m'),
    ('ldmatrix.sync.aligned.m8n8.x4[.trans][.shared].{b16,b8}', '{r,r,r,r},m'),
    ('stmatrix.sync.aligned.m8n8.x1[.trans][.shared].b16', 'm,{r}'),
    ('stmatrix.sync.aligned.m8n8.x2[.trans][.shared].b16', 'm,{r,r}'),
    ('stmatrix.sync.aligned.m8n8.x4[.trans][.shared].b16', 'm,{r,r,r,r}'),
    ('movmatrix.sync.aligned.m8n8.trans.b16', 'r,r'),
    ('mma.sync.aligned.m16n8k8.row.{col,row}.{f16.f16.f16.f16,f16.bf16.bf16.f16}',
     '{r,r},{r,r},{r},{r,r}'),
    ('mma.sync.aligned.m16n8k8.row.col.f32.{f16.f16,bf16.bf16}.f32',
        '{r,r,r,r},{r,r},{r},{r,r,r,r}'),
    ('mma.sync.aligned.m16n8k16.row.col.f32.{f16.f16,bf16.bf16,f16.bf16}.f32',
     '{r,r,r,r},{r,r,r,r},{r,r},{r,r,r,r}'),
    ('mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16', '{r,r},{r,r,r,r},{r,r},{r,r}'),
    ('mma.sync.aligned.m16n8k16.row.col.{f16.f16.f16.f32,f32.f16.f16.f16}',
     '{r,r},{r,r,r,r},{r,r},{r,r,r,r}'),
    ('mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32', '{r,r,r,r},{r,r},{r},{r,r,r,r}'),
    ('mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32', '{r,r,r,r},{r,r,r,r},{r,r},{r,r,r,r}'),
    ('mma.sync.aligned.m16n8k32.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32',
     '{r,r,r,r},{r,r,r,r},{r,r},{r,r,r,r}'),
    ('mma.sync.aligned.m8n8k4.{row,col}.{row,col}.f16.f16.f16.f16',
     '{r,r,r,r},{r,r},{r,r},{r,r,r,r}'),
    ('mma.sync.aligned.m8n8k4.{row,col}.{row,col}.f32.f16.f16.f32',
     '{r,r,r,r,r,r,r,r},{r,r},{r,r},{r,r,r,r,r,r,r,r}'),
    ('mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64', '{x,x},{x},{x},{x,x}'),
    ('mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64', '{x,x,x,x},{x,x},{x},{x,x,x,x}'),
    ('mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64', '{x,x,x,x},{x,x,x,x},{x,x},{x,x,x,x}'),
    ('mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64',
     '{x,x,x,x},{x,x,x,x,x,x,x,x},{x,x,x,x},{x,x,x,x}'),
    ('mma.sync.aligned.m8n8k16.row.col[.satfinite].s32.{s8,u8}.{s8,u8}.s32', '{r,r},{r},{r},{r,r}'),
    ('mma.sync.aligned.m16n8k16.row.col[.satfinite].s32.{s8,u8}.{s8,u8}.s32',
     '{r,r,r,r},{r,r},{r},{r,r,r,r}'),
    ('mma.sync.aligned.m16n8k32.row.col[.satfinite].s32.{s8,u8}.{s8,u8}.s32',
     '{r,r,r,r},{r,r,r,r},{r,r},{r,r,r,r}'),
    ('mma.sync.aligned.m8n8k32.row.col[.satfinite].s32.{s4,u4}.{s4,u4}.s32', '{r,r},{r},{r},{r,r}'),
    ('mma.sync.aligned.m16n8k64.row.col[.satfinite].s32.{s4,u4}.{s4,u4}.s32',
     '{r,r,r,r},{r,r,r,r},{r,r},{r,r,r,r}'),
    ('mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.{xor,and}.popc',
     '{r,r,r,r},{r,r,r,r},{r,r},{r,r,r,r}'),
    ('wmma.load.{a,b}.sync.aligned.{row,col}.' + SHAPES + '[.{global,shared}].f16',
     '{r,r,r,r,r,r,r,r},m,16'),
    ('wmma.load.{a,b}.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}[.shared].bf16',
     '{r,r,r,r},m,r'),
    ('wmma.load.{a,b}.sync.aligned.row.{m8n32k16,m32n8k16}.bf16', '{r,r},m'),
    ('wmma.load.{a,b}.sync.aligned.row.{m8n32k16,m32n8k16}.bf16', '{r,r,r,r,r,r,r,r},m'),
    ('wmma.load.{a,b}.sync.aligned.{row,col}.m16n16k8.tf32', '{r,r,r,r},m'),
    ('wmma.load.{a,b}.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.{s8,u8}', '{r,r},m'),
    ('wmma.load.{a,b}.sync.aligned.{row,col}.{m8n32k16,m32n8k16}.{s8,u8}', '{r},m'),
    ('wmma.load.{a,b}.sync.aligned.{row,col}.{m8n32k16,m32n8k16}.{s8,u8}', '{r,r,r,r},m'),
    ('wmma.load.{a,b}.sync.aligned.{row,col}.m8n8k32.{s4,u4}', '{r},m'),
    ('wmma.load.{a,b}.sync.aligned.{row,col}.m8n8k4.f64', '{x},m'),
    ('wmma.load.c.sync.aligned.{row,col}.' + SHAPES + '.{f32,s32}', '{r,r,r,r,r,r,r,r},m'),
    ('wmma.load.c.sync.aligned.{row,col}.' + SHAPES + '.f16', '{r,r,r,r},m,r'),
    ('wmma.load.c.sync.aligned.row.m8n8k4.f64', '{x,x},m'),
    ('wmma.store.d.sync.aligned.{row,col}.' + SHAPES + '[.{global,shared}].{f32,s32}',
     'm,{r,r,r,r,r,r,r,r},r'),
    ('wmma.store.d.sync.aligned.{row,col}.' + SHAPES + '.f16', 'm,{r,r,r,r}'),
    ('wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.f32.f32',
     '{r,r,r,r,r,r,r,r},{r,r,r,r,r,r,r,r},{r,r,r,r,r,r,r,r},{r,r,r,r,r,r,r,r}'),
    ('wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.f16.f16[.satfinite]',
     '{r,r,r,r},{r,r,r,r,r,r,r,r},{r,r,r,r,r,r,r,r},{r,r,r,r}'),
    ('wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32',
     '{r,r,r,r},{r,r,r,r,r,r,r,r},{r,r,r,r,r,r,r,r},{r,r,r,r,r,r,r,r}'),
    ('wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16',
     '{r,r,r,r,r,r,r,r},{r,r,r,r,r,r,r,r},{r,r,r,r,r,r,r,r},{r,r,r,r}'),
    ('wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k16.f32.bf16.bf16.f32',
     '{r,r,r,r,r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r,r,r,r,r}'),
    ('wmma.mma.sync.aligned.row.col.m8n32k16.f32.bf16.bf16.f32',
     '{r,r,r,r,r,r,r,r},{r,r},{r,r,r,r,r,r,r,r},{r,r,r,r,r,r,r,r}'),
    ('wmma.mma.sync.aligned.row.col.m32n8k16.f32.bf16.bf16.f32',
     '{r,r,r,r,r,r,r,r},{r,r,r,r,r,r,r,r},{r,r},{r,r,r,r,r,r,r,r}'),
    ('wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k8.f32.tf32.tf32.f32',
     '{r,r,r,r,r,r,r,r},{r,r,r,r},{r,r,r,r},{r,r,r,r,r,r,r,r}'),
    ('wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k16.s32.{s8,u8}.{s8,u8}.s32[.satfinite]',
     '{r,r,r,r,r,r,r,r},{r,r},{r,r},{r,r,r,r,r,r,r,r}'),
    ('wmma.mma.sync.aligned.row.col.m8n32k16.s32.{s8,u8}.{s8,u8}.s32',
     '{r,r,r,r,r,r,r,r},{r},{r,r,r,r},{r,r,r,r,r,r,r,r}'),
    ('wmma.mma.sync.aligned.row.col.m32n8k16.s32.{s8,u8}.{s8,u8}.s32',
     '{r,r,r,r,r,r,r,r},{r,r,r,r},{r},{r,r,r,r,r,r,r,r}'),
]

WIDTH = {'8': 'h', '16': 'h', '32': 'r', '64': 'x', '128': 'y'}


def expand(pattern):
    """All texts of a pattern."""
    found = re.search(r'\[[^][]*\]|\{[^{}]*\}', pattern)
    if not found:
        return [pattern]
    inner = found.group()[1:-1]
    if found.group()[0] == '{':
        choices = inner.split(',')
    else: # the braces inside come first
        inside = re.search(r'\{[^{}]*\}', pattern[found.start():found.end()])
        if inside:
            at = found.start() + inside.start()
            return [text for choice in inside.group()[1:-1].split(',')
                    for text in expand(pattern[:at] + choice + pattern[at + len(inside.group()):])]
        choices = ['', inner]
    return [text for choice in choices
            for text in expand(pattern[:found.start()] + choice + pattern[found.end():])]


def register(type_name):
    """The letter of the register for a type."""
    if type_name == 'pred':
        return 'p'
    digits = re.search(r'[busf](?:f)?(\d+)(x\d)?$', type_name)
    if type_name in ('tf32',) or (digits and digits.group(2)):
        return 'r'
    return WIDTH[digits.group(1)] if digits and digits.group(1) in WIDTH else 'r'


TYPE = re.compile(r'^(pred|tf32|[busf]\d+(x\d)?|bf16(x2)?)$')


def operands(spelling, text):
    """The operands as written, with numbered registers."""
    types = [word for word in spelling.split('.') if TYPE.match(word)]
    letters = {'d': register(types[0]) if types else 'r', 's': register(types[-1])
        if types else 'r',
               'e': register(types[-2]) if len(types) > 1 else 'r'}
    if spelling.split('.')[0] in ('popc', 'clz'):
        letters['D'] = 'r'
    else:
        letters['D'] = letters['s']
    counts, out = {}, ''
    for part in re.findall(r'~p|r\|p|L|[dDsehrxpqmy](?![0-9a-zA-Z_])|.', text):
        if part == '~p':
            if not any('.' + word in spelling for word in ('and.', 'or.', 'xor.')):
                out = out.rstrip(',')
                continue
            part = 'p'
        if part == 'm':
            out += '[%x9]'
        elif part == 'q':
            out += '%p8|%p9'
        elif part == 'r|p':
            out += '%r9|%p9'
        elif part == 'L':
            out += '%r9|%p9'
        elif part in letters or part in 'hrxpy':
            letter = letters.get(part, part)
            counts[letter] = counts.get(letter, 0) + 1
            out += f'%{letter}{counts[letter]}'
        else:
            out += part
    return out


def choices(text):
    """Operand texts: braces that hold single letters are vectors, others are choices."""
    found = re.search(r'\{(?![a-z_](,[a-z_])*\})[^{}]*\}', text)
    if not found:
        return [text]
    return [t for choice in found.group()[1:-1].split(',')
            for t in choices(text[:found.start()] + choice + text[found.end():])]


def forms():
    """Every instruction, once, in order."""
    seen = {}
    for pattern, operand_text in FAMILIES:
        for spelling, text in itertools.product(expand(pattern), choices(operand_text)):
            seen.setdefault(f'{spelling} {operands(spelling, text)};'.replace(' ;', ';'))
    return list(seen)


HEADER = '.version 9.0\n.target sm_90\n.address_size 64\n'


def kernel(number, instruction):
    """An instruction in a kernel of its own, on one line."""
    wide = '.reg .b128 %y<4>; ' if '%y' in instruction else ''
    return (f'.visible .entry k{number}(.param .u64 out) {{ .reg .pred %p<12>; .reg .b16 %h<32>; '
            f'.reg .b32 %r<48>; .reg .b64 %x<48>; {wide}{instruction} }}\n')


if __name__ == '__main__':
    all_forms = forms()
    print(HEADER + ''.join(kernel(i, form) for i, form in enumerate(all_forms)), end='')
