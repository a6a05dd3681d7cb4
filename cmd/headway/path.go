package main

import "github.com/spf13/cobra"

func newPath() *cobra.Command {
	c := &cobra.Command{
		Use:   "path",
		Short: "What if the network were different?",
		Long: `Path experiments on the network under real TCP: the kernel's own, over a link that
is emulated in user space between two network namespaces. It changes delay, loss,
rate, queue and congestion control, and says what each does to a transfer; it runs
any command inside such a link; it says what limits a transfer, from the outside
or from a capture.`,
		Example: `  headway path lab --loss 0,1,2,3 --cc cubic,bbr
  headway path run --delay 125ms --loss 1% -- curl http://host.headway:8080/
  headway path probe https://example.org/ -n 20
  headway path pcap transfer.pcapng`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("no path %q; see headway path --help", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	// Each of these stands in a file of its own: path_lab.go and so on.
	c.AddCommand(newPathLab(), newPathRun(), newPathShell(), newPathPcap(), newPathProbe())
	return c
}
