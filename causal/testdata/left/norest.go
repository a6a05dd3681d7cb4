//go:build !cgo

package main

func rest() { panic("built without C") }
