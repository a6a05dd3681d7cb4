// Package probe measures exchanges with a server from the outside, step by step, with what the
// kernel knows of their connections, and says what limits them.
package probe
