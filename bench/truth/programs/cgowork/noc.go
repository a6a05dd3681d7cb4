//go:build !cgo

package main

const haveC = false

func siteA(int) uint64 { return 0 }
