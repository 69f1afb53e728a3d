# Two sockets of 24 Cascade Lake cores, 6 Optane 100 DIMMs of 256 GB at 15 W each.
#
# HW: published measurements. INF: inferred from them. CLAIM: stated by a source, not measured.
# FITTED: chosen so that the model meets the curve named.
sockets 2 count            # HW testbed of FAST'20, section 3.1
cores 24 count             # same
dimms 6 count              # same
cycle 0.385 ns             # 2.6 GHz: between the base and turbo clocks, 2.2 and 3.1
event 0.385 ns             # INF: one cycle to issue a load or store
l1_size 32 KiB             # CLAIM Intel optimization manual, Cascade Lake
l1_ways 8 count            # same
l1_hit 1.9 ns              # same: 5 cycles
l2_size 1024 KiB           # same
l2_ways 16 count           # same
l2_hit 5.4 ns              # same: 14 cycles
llc_size 36608 KiB         # CLAIM: 35.75 MiB per socket
llc_hit 20 ns              # CLAIM: 50-70 cycles
peer_hit 45 ns             # INF: an LLC visit and a private cache's answer
tlb_entries 1536 count     # CLAIM: second-level TLB, 2 MiB pages
tlb_miss 9 ns              # INF: a page walk that hits L2
line_fills 12 count        # INF from one-thread read bandwidth (L1 has 12 fill buffers)
window 224 count           # CLAIM: reorder buffer
prefetch 4 count           # INF: lines ahead within a 4 KiB page; 0 switches it off
flush_latency 62 ns        # HW FAST'20: clwb of a cached line
stream_latency 90 ns       # HW FAST'20: ntstore
persist_gap 22.5 ns        # INF from bandwidth against fence interval
flush_evicts 1 flag        # HW: clwb on Cascade Lake invalidates the line
cache_durable 0 flag       # ADR: the caches are not in the persistence domain
interleave 4096 bytes      # HW FAST'20
wpq 64 count               # INF: slots of 64 bytes per channel
hazard 190 ns              # INF: writing the same line again
link 3 ns                  # INF: DDR-T, 64 bytes
remote_read 60 ns          # INF from local to remote ratios
remote_write 138 ns        # same
upi 2.13 ns                # CLAIM SIGMOD'21: 30 GB/s of data per direction
media 1 flag               # 256-byte media behind buffers
read_buffer_hit 175 ns     # HW pointer chase, 16 KiB
ait_hit 310 ns             # HW pointer chase, 4 MiB
ait_miss 377 ns            # HW pointer chase, 1 GiB
read_buffer 64 count       # HW EuroSys'22: 16 KiB, FIFO, a block is served once
xpbuffer 64 count          # HW FAST'20: 16 KiB
xpbuffer_draws 2 count     # FITTED to FAST'20 two-pass test; 1: uniformly random victim
ait_entries 4096 count     # HW NVLeak: 4 KiB each
ait_ways 16 count          # same
media_read 36.5 ns         # HW: saturated one-DIMM reads
media_write 107 ns         # HW: saturated one-DIMM writes
background 3.6 percent     # INF: floor of write amplification
wear_threshold 14000 count # HW: line writes to one 4 KiB block before it moves
wear_window 14545 ns       # HW: 32 k cycles at 2.2 GHz; writes further apart do not count
wear_stall 52000 ns        # HW: the move
dram_latency 81 ns         # HW FAST'20: sequential 81, random 101
dram_read 0.57 ns          # HW: 105 GiB/s over 6 channels, per 64 bytes
dram_write 0.77 ns         # HW: 77 GiB/s
