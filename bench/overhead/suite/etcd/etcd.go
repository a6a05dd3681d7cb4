// Command etcd puts keys into a key-value store over gRPC, over and over.
package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/headway-lab/headway/bench/overhead/suite/loop"
)

var operations loop.Operations

func main() { loop.Run(&operations, put) }

// put is a server with one member and its client, which keeps sixteen requests in flight over one connection; an operation is a key put.
// Nothing waits for the disk: what is to be measured is the program.
func put() (func() error, int, error) {
	dir, err := os.MkdirTemp("", "etcd-")
	if err != nil {
		return nil, 0, err
	}
	c := embed.NewConfig()
	c.Dir = dir
	c.UnsafeNoFsync = true
	c.LogLevel = "error"
	c.AutoCompactionMode, c.AutoCompactionRetention = "revision", "10000"
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	c.ListenClientUrls, c.AdvertiseClientUrls = anyPort, anyPort
	c.ListenPeerUrls, c.AdvertisePeerUrls = anyPort, anyPort
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	server, err := embed.StartEtcd(c)
	if err != nil {
		return nil, 0, err
	}
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return nil, 0, err
	case <-time.After(10 * time.Second):
		return nil, 0, errors.New("the server does not get ready")
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Clients[0].Addr().String()}})
	if err != nil {
		return nil, 0, err
	}
	var (
		n     atomic.Int64
		value = strings.Repeat("value", 50)
	)
	return func() error {
		_, err := client.Put(context.Background(), "key"+strconv.FormatInt(n.Add(1)%1000, 10), value)
		return err
	}, 16, nil
}
