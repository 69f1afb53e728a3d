# One socket of 24 cores with a single Optane 100 DIMM: the machine of one-DIMM curves.
base optane-100
sockets 1 count # nothing is remote
dimms 1 count   # HW: not interleaved
