package main

/*
#include <unistd.h>

static void inC(void) { sleep(3); }
*/
import "C"

func rest() { C.inC() }
