// Package control is the block of memory that headway shares with the program
// it profiles: the command writes the experiment into it and reads counters,
// debts and samples from it. The program's side is the file that package
// instrument adds to package runtime; a test compares the two layouts.
package control

const (
	magic = 0x68656164776179_02

	// MaxP, MaxPoint, MaxID and MaxName bound what fits into the block.
	MaxP     = 256
	MaxPoint = 64
	MaxID    = 2048
	MaxName  = 64

	ring      = 4096
	stack     = 128 // as deep as the profiles of package runtime go
	record    = 32 + 8*stack
	nameBytes = 64

	offMagic   = 0
	offPid     = 8
	offOn      = 16
	offSample  = 24
	offGen     = 32
	offProcs   = 40
	offText    = 48
	offHead    = 64
	offNames   = 72
	offExt     = 80
	offForgive = 88
	offKept    = 96
	offAway    = 104
	offAways   = 112
	offAwayAt  = 1024
	maxAway    = 32

	offW     = 4096
	offName  = offW + 4*MaxID
	offP     = offName + MaxName*nameBytes
	offPoint = offP + MaxP*256
	offCalls = offPoint + MaxP*MaxPoint*32
	offRing  = offCalls + MaxP*MaxID*8
	size     = offRing + ring*record

	// Within the account of a P.
	atBase   = 48
	atPaid   = 88
	atPays   = 96
	atCounts = 64

	// Within that of a thread without one.
	atAwaySince = 8
	atAwayW     = 16
	atAwayBase  = 24
	atAwayNext  = 32

	// What the program does, in the word at offOn.
	flagCharges = 1
	flagSamples = 2
	flagOpen    = 4
	flagCounts  = 8

	// NamedBase is the number of the first point of package progress.
	NamedBase = MaxPoint - MaxName/2

	// Inherit is the weight of a mark that leaves the site as it is.
	Inherit = -1
	// One is the weight of a speed-up of 100%.
	One = 65536
)
