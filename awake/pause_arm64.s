#include "textflag.h"

// func pause(n uint64)
TEXT ·pause(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R0
again:
	YIELD
	SUBS $1, R0, R0
	BNE  again
	RET
