// Package deploy holds what runs the service elsewhere: container files, Kubernetes manifests, a systemd
// unit. It has no code, but tests that hold all of it against cmd/iss: flags that exist, ports
// that are served, probes that are answered.
package deploy
