// Package probe measures exchanges with a server from the outside, step by step, with what the
// kernel knows of their connections, and says what limits them.
//
// [Client] makes connections and times every step; [Options] runs many exchanges, of several
// variants by turns, and reports them:
//
//	o := probe.Options{URL: "https://example.org/", N: 20}
//	r, err := o.Run(ctx)
package probe
