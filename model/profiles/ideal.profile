# A bound: memory and persisting cost nothing; only the processor's own work remains.
base optane-100
media 0 flag           # by definition of the bound, as all below
flush_latency 0 ns
stream_latency 0 ns
persist_gap 0 ns
flush_evicts 0 flag
hazard 0 ns
remote_read 0 ns
remote_write 0 ns
upi 0 ns
dram_latency 0 ns
dram_read 0 ns
dram_write 0 ns
