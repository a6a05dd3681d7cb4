package pcap

// maxPacket is the longest packet that is believed: more than any link carries (libpcap's
// MAXIMUM_SNAPLEN, for USB and D-Bus apart).
const maxPacket = 262144

const linkRaw = 101
