# The same processors with persistent memory as fast as DRAM (battery-backed, 64-byte media).
base optane-100
media 0 flag            # no 256-byte media, no buffers on the DIMM
stream_latency 87 ns    # HW FAST'20: ntstore to DRAM
flush_latency 57 ns     # HW FAST'20: clwb to DRAM
hazard 0 ns             # not seen on DRAM
