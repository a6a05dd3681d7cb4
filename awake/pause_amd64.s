#include "textflag.h"

// func pause(n uint64)
TEXT ·pause(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), AX
again:
	PAUSE
	SUBQ $1, AX
	JNZ  again
	RET
