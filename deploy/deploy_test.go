package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/headway-lab/headway/iss/page"
	"github.com/headway-lab/headway/iss/powerdns"
	"github.com/headway-lab/headway/iss/sky"
	"github.com/headway-lab/headway/iss/zone"
)

// What the tests look at of Kubernetes' objects.
type (
	manifest struct {
		Kind     string
		Metadata struct {
			Name   string
			Labels map[string]string
		}
		Spec struct {
			// Services
			Type         string
			ClusterIP    string `yaml:"clusterIP"`
			Ports        []servicePort
			ServiceName  string    `yaml:"serviceName"`
			Selector     yaml.Node // a map of a Service, matchLabels of others
			PodSelector  selector  `yaml:"podSelector"`
			Ingress      []rule
			Egress       []rule
			Template     template
			Replicas     int
			ClaimsOfPods []struct {
				Metadata struct{ Name string }
			} `yaml:"volumeClaimTemplates"`
			MaxUnavailable int `yaml:"maxUnavailable"`
		}
	}
	selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	servicePort struct {
		Name, Protocol string
		Port           int
		TargetPort     string `yaml:"targetPort"`
	}
	rule struct {
		Ports []struct{ Port, Protocol string }
	}
	template struct {
		Metadata struct{ Labels, Annotations map[string]string }
		Spec     struct {
			InitContainers  []container `yaml:"initContainers"`
			Containers      []container
			SecurityContext map[string]any `yaml:"securityContext"`
			Volumes         []struct{ Name string }
		}
	}
	container struct {
		Name, Image, RestartPolicy string
		Args                       []string
		EnvFrom                    []struct {
			Map struct{ Name string } `yaml:"configMapRef"`
		} `yaml:"envFrom"`
		Ports []struct {
			Name, Protocol string
			ContainerPort  int `yaml:"containerPort"`
		}
		StartupProbe, ReadinessProbe, LivenessProbe *probe
		Resources                                   struct{ Requests, Limits map[string]string }
		SecurityContext                             struct {
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
			Capabilities             struct{ Drop []string }
		} `yaml:"securityContext"`
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
	probe struct {
		HTTPGet          *struct{ Path, Port string } `yaml:"httpGet"`
		TCPSocket        *struct{ Port string }       `yaml:"tcpSocket"`
		PeriodSeconds    int                          `yaml:"periodSeconds"`
		TimeoutSeconds   int                          `yaml:"timeoutSeconds"`
		FailureThreshold int                          `yaml:"failureThreshold"`
	}
)

func (c *container) UnmarshalYAML(n *yaml.Node) error {
	type plain container
	type more struct {
		plain          `yaml:",inline"`
		RestartPolicy  string `yaml:"restartPolicy"`
		StartupProbe   *probe `yaml:"startupProbe"`
		ReadinessProbe *probe `yaml:"readinessProbe"`
		LivenessProbe  *probe `yaml:"livenessProbe"`
	}
	var m more
	if err := n.Decode(&m); err != nil {
		return err
	}
	*c = container(m.plain)
	c.RestartPolicy, c.StartupProbe, c.ReadinessProbe, c.LivenessProbe = m.RestartPolicy, m.StartupProbe, m.ReadinessProbe, m.LivenessProbe
	return nil
}

func decode(t *testing.T, name string, r io.Reader) (all []manifest) {
	t.Helper()
	for d := yaml.NewDecoder(r); ; {
		var m manifest
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, m)
	}
}

type kustomization struct {
	Resources  []string
	ConfigMaps []struct {
		Name            string
		Files, Literals []string
	} `yaml:"configMapGenerator"`
	ImagesWithin []struct{ Name string } `yaml:"images"`
}

// manifests of the set-up with PowerDNS, as they stand in the files.
func manifests(t *testing.T) (all []manifest, k kustomization) {
	t.Helper()
	text, err := os.ReadFile("kubernetes/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	for _, name := range k.Resources {
		f, err := os.Open(filepath.Join("kubernetes", name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, decode(t, name, f)...)
		f.Close()
	}
	return all, k
}

// embedded is the set-up without PowerDNS; only kubectl knows how to make it.
func embedded(t *testing.T) []manifest {
	t.Helper()
	return decode(t, "kubernetes-embedded", bytes.NewReader(kustomize(t, "kubernetes-embedded")))
}

func kustomize(t *testing.T, dir string) []byte {
	t.Helper()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("no kubectl in PATH: what kustomize makes of the manifests is not tried")
	}
	var complaint bytes.Buffer
	c := exec.Command("kubectl", "kustomize", dir)
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		t.Fatalf("kubectl kustomize %s: %v\n%s", dir, err, complaint.String())
	}
	return out
}

func one(t *testing.T, all []manifest, kind, name string) manifest {
	t.Helper()
	for _, m := range all {
		if m.Kind == kind && m.Metadata.Name == name {
			return m
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return manifest{}
}

func containers(m manifest) []container {
	return append(slices.Clone(m.Spec.Template.Spec.InitContainers), m.Spec.Template.Spec.Containers...)
}

func TestEveryFileIsUsed(t *testing.T) {
	_, k := manifests(t)
	used := append([]string{"kustomization.yaml"}, k.Resources...)
	for _, c := range k.ConfigMaps {
		used = append(used, c.Files...)
	}
	files, err := fs.Glob(os.DirFS("kubernetes"), "*")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(used)
	if !slices.Equal(files, used) {
		t.Errorf("there are %v, and used are %v", files, used)
	}
	images := map[string]bool{}
	for _, i := range k.ImagesWithin {
		images[i.Name] = true
	}
	all, _ := manifests(t)
	for _, c := range containers(one(t, all, "StatefulSet", "iss")) {
		if !images[c.Image] {
			t.Errorf("image %s of %s is not among those of the kustomization", c.Image, c.Name)
		}
	}
}

func TestPodsAreRestricted(t *testing.T) {
	all, _ := manifests(t)
	set := one(t, all, "StatefulSet", "iss")
	for name, want := range map[string]any{"runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532} {
		if got := set.Spec.Template.Spec.SecurityContext[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	volumes := map[string]bool{}
	for _, v := range set.Spec.Template.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, v := range set.Spec.ClaimsOfPods {
		volumes[v.Metadata.Name] = true
	}
	for _, c := range containers(set) {
		s := c.SecurityContext
		if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
			t.Errorf("%s may more than it needs: %+v", c.Name, s)
		}
		if c.Resources.Requests["cpu"] == "" || c.Resources.Requests["memory"] == "" || c.Resources.Limits["memory"] == "" {
			t.Errorf("%s: resources %+v", c.Name, c.Resources)
		}
		for _, p := range c.Ports {
			if p.ContainerPort < 1024 {
				t.Errorf("%s: port %d wants a capability that it has not", c.Name, p.ContainerPort)
			}
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s mounts %s, which is no volume", c.Name, m.Name)
			}
		}
	}
}

// Services find the pods, and each port leads to one that a container has, with its protocol.
func TestServicesLeadToPorts(t *testing.T) {
	all, _ := manifests(t)
	for name, all := range map[string]func() []manifest{"kubernetes": func() []manifest { return all }, "kubernetes-embedded": func() []manifest { return embedded(t) }} {
		t.Run(name, func(t *testing.T) {
			all := all()
			set := one(t, all, "StatefulSet", "iss")
			ports := map[string]string{} // name -> protocol
			for _, c := range containers(set) {
				for _, p := range c.Ports {
					ports[p.Name] = p.Protocol
				}
			}
			services := 0
			for _, m := range all {
				var chosen map[string]string
				switch m.Kind {
				case "Service":
					services++
					if err := m.Spec.Selector.Decode(&chosen); err != nil {
						t.Fatal(err)
					}
					for _, p := range m.Spec.Ports {
						if ports[p.TargetPort] != p.Protocol || p.Protocol == "" {
							t.Errorf("service %s: %s/%s, and the pods have %s/%s", m.Metadata.Name, p.TargetPort, p.Protocol, p.TargetPort, ports[p.TargetPort])
						}
					}
				case "PodDisruptionBudget", "StatefulSet":
					var s selector
					if err := m.Spec.Selector.Decode(&s); err != nil {
						t.Fatal(err)
					}
					chosen = s.MatchLabels
				case "NetworkPolicy":
					chosen = m.Spec.PodSelector.MatchLabels
					for _, r := range m.Spec.Ingress {
						for _, p := range r.Ports {
							if ports[p.Port] != p.Protocol {
								t.Errorf("the policy lets %s/%s in, and the pods have %s/%s", p.Port, p.Protocol, p.Port, ports[p.Port])
							}
						}
					}
				default:
					continue
				}
				if len(chosen) == 0 {
					t.Errorf("%s %s chooses all pods", m.Kind, m.Metadata.Name)
				}
				for label, v := range chosen {
					if set.Spec.Template.Metadata.Labels[label] != v {
						t.Errorf("%s %s chooses %s=%s, which the pods do not have", m.Kind, m.Metadata.Name, label, v)
					}
				}
			}
			if services != 3 {
				t.Errorf("%d services", services)
			}
			// One address for both protocols.
			s := one(t, all, "Service", "iss")
			seen := map[string]int{}
			for _, p := range s.Spec.Ports {
				seen[p.Protocol] = p.Port
			}
			if s.Spec.Type != "LoadBalancer" || seen["UDP"] != 53 || seen["TCP"] != 53 {
				t.Errorf("%s with %v", s.Spec.Type, seen)
			}
			if p := one(t, all, "Service", "iss-peers"); p.Spec.ClusterIP != "None" || set.Spec.ServiceName != "iss-peers" {
				t.Error("the pods have no names")
			}
			if b := one(t, all, "PodDisruptionBudget", "iss"); b.Spec.MaxUnavailable < 1 || b.Spec.MaxUnavailable >= set.Spec.Replicas {
				t.Errorf("%d of %d pods may be away", b.Spec.MaxUnavailable, set.Spec.Replicas)
			}
		})
	}
}

// What a probe asks for, the site answers; and a probe waits for longer than package health may take.
func TestProbesAreAnswered(t *testing.T) {
	c := sky.NewCatalogue(sky.BuiltIn())
	z, err := zone.New(zone.Config{Origin: "example."}, c)
	if err != nil {
		t.Fatal(err)
	}
	site, err := page.New(page.Options{Catalogue: c, Zone: z})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	status := func(path string) int {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code
	}
	all, _ := manifests(t)
	for _, all := range [][]manifest{all, embedded(t)} {
		set := one(t, all, "StatefulSet", "iss")
		named := map[string]bool{}
		for _, c := range containers(set) {
			for _, p := range c.Ports {
				named[p.Name] = true
			}
		}
		for _, c := range containers(set) {
			if c.ReadinessProbe == nil || c.LivenessProbe == nil {
				t.Errorf("%s has not both probes", c.Name)
				continue
			}
			if c.RestartPolicy == "Always" && c.StartupProbe == nil {
				t.Errorf("%s starts before the others, which is for nothing without a startup probe", c.Name)
			}
			if l := c.LivenessProbe; l.HTTPGet == nil || l.HTTPGet.Path != "/livez" || l.TimeoutSeconds < 1 || l.FailureThreshold < 2 {
				t.Errorf("%s: liveness %+v", c.Name, l)
			}
			for _, p := range []*probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
				switch {
				case p == nil:
				case p.HTTPGet != nil:
					if got := status(p.HTTPGet.Path); got != 200 {
						t.Errorf("%s asks for %s, which is answered with %d", c.Name, p.HTTPGet.Path, got)
					}
					if p.HTTPGet.Port != "http" || !named["http"] {
						t.Errorf("%s asks port %s", c.Name, p.HTTPGet.Port)
					}
				case p.TCPSocket == nil || !named[p.TCPSocket.Port]:
					t.Errorf("%s: %+v", c.Name, p)
				}
			}
		}
		if path := set.Spec.Template.Metadata.Annotations["prometheus.io/path"]; status(path) != 200 {
			t.Errorf("metrics at %q", path)
		}
	}
}

var scratch string // removed in the end

var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "iss")
	if err != nil {
		return "", err
	}
	scratch = dir
	c := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "iss"), "../cmd/iss")
	c.Env = append(os.Environ(), "CGO_ENABLED=0") // as the container file does
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return filepath.Join(dir, "iss"), nil
})

func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program: left out by -short")
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMain(m *testing.M) {
	status := m.Run()
	if scratch != "" {
		os.RemoveAll(scratch)
	}
	os.Exit(status)
}

// accepts tells that the program understands arguments. With --help it does nothing with them, but refuses
// what it does not know.
func accepts(t *testing.T, where string, args []string) {
	t.Helper()
	out, err := exec.Command(program(t), append(slices.Clone(args), "--help")...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: iss %s: %v\n%s", where, strings.Join(args, " "), err, out)
	}
}

func TestFlagsExist(t *testing.T) {
	if out, err := exec.Command(program(t), "--no-such-flag", "--help").CombinedOutput(); err == nil {
		t.Fatalf("a flag that does not exist is taken, so this test finds nothing: %s", out)
	}
	all, _ := manifests(t)
	for name, all := range map[string][]manifest{"kubernetes": all, "kubernetes-embedded": embedded(t)} {
		for _, c := range containers(one(t, all, "StatefulSet", "iss")) {
			if c.Name != "iss" {
				continue
			}
			accepts(t, name, c.Args)
			// The ports that it is told are those that it declares.
			for _, a := range c.Args {
				flag, port, ok := strings.Cut(a, "=:")
				if !ok {
					continue
				}
				found := 0
				for _, p := range c.Ports {
					if fmt.Sprint(p.ContainerPort) == port {
						found++
					}
				}
				if want := map[string]int{"--http": 1, "--dns": 2}[flag]; found != want {
					t.Errorf("%s: %s has %d ports in the manifest, want %d", name, a, found, want)
				}
			}
		}
	}
	file := containerfile(t)
	accepts(t, "Containerfile", append(jsonArgs(t, file, "ENTRYPOINT")[1:], jsonArgs(t, file, "CMD")...))
	accepts(t, "iss.service", strings.Fields(strings.NewReplacer("${STATE_DIRECTORY}", "/d", "$ISS_FLAGS", "--zone=sky.example.org --ns=ns1.sky.example.org=192.0.2.1").Replace(execStart(t)))[1:])
}

// The zone has a name server with an address, and stands in one place for both set-ups.
func TestZoneHasAServer(t *testing.T) {
	all, k := manifests(t)
	env := map[string]string{}
	for _, c := range k.ConfigMaps {
		for _, l := range c.Literals {
			name, value, _ := strings.Cut(l, "=")
			if c.Name == "iss" {
				env[name] = value
			}
		}
	}
	expand := func(args []string) (out []string) {
		for _, a := range args {
			out = append(out, regexp.MustCompile(`\$\((\w+)\)`).ReplaceAllStringFunc(a, func(s string) string { return env[s[2:len(s)-1]] }))
		}
		return out
	}
	check := func(t *testing.T, all []manifest) {
		for _, c := range containers(one(t, all, "StatefulSet", "iss")) {
			if c.Name != "iss" {
				continue
			}
			zone, server, address := "", "", ""
			for _, a := range expand(c.Args) {
				if v, ok := strings.CutPrefix(a, "--zone="); ok {
					zone = v
				}
				if v, ok := strings.CutPrefix(a, "--ns="); ok {
					server, address, _ = strings.Cut(v, "=")
				}
			}
			if _, err := netip.ParseAddr(address); err != nil || zone == "" || !strings.HasSuffix(server, "."+zone) {
				t.Errorf("zone %q with the name server %q at %q", zone, server, address)
			}
			if !slices.Contains(c.Args, "--zone=$(ISS_ZONE)") {
				t.Errorf("a zone of its own: %v", c.Args)
			}
			if len(c.EnvFrom) != 1 || !strings.HasPrefix(c.EnvFrom[0].Map.Name, "iss") {
				t.Errorf("where $(ISS_ZONE) is from: %+v", c.EnvFrom)
			}
		}
	}
	t.Run("kubernetes", func(t *testing.T) { check(t, all) })
	t.Run("kubernetes-embedded", func(t *testing.T) { check(t, embedded(t)) })
}

// What the page of the docs says can be said.
func TestFlagsInDocsExist(t *testing.T) {
	help, err := exec.Command(program(t), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../docs/iss.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `(--[a-z-]+)").FindAllSubmatch(text, -1) {
		n++
		if !bytes.Contains(help, append(m[1], ' ')) {
			t.Errorf("docs/iss.md has %s, and iss --help has not", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^ +(--[a-z-]+) `).FindAllSubmatch(help, -1) {
		if !bytes.Contains(text, append([]byte("| `"), m[1]...)) {
			t.Errorf("iss --help has %s, and docs/iss.md has not", m[1])
		}
	}
	if n < 10 {
		t.Errorf("%d flags are in the docs: the test looks the wrong way", n)
	}
}

// The pod's two halves meet: socket, caches, ports.
func TestPowerDNSMeetsItsBackend(t *testing.T) {
	all, _ := manifests(t)
	text, err := os.ReadFile("kubernetes/pdns.conf")
	if err != nil {
		t.Fatal(err)
	}
	conf := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			conf[name] = value
		}
	}
	set := one(t, all, "StatefulSet", "iss")
	socket := ""
	for _, c := range containers(set) {
		for _, a := range c.Args {
			if path, ok := strings.CutPrefix(a, "--powerdns=unix:"); ok {
				socket = path
			}
		}
	}
	for line := range strings.Lines(powerdns.Settings("unix:path="+socket, false)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(name, "#") && conf[name] != value {
			t.Errorf("pdns.conf: %s=%s, want %s", name, conf[name], value)
		}
	}
	for _, c := range containers(set) {
		mounted := false
		for _, m := range c.VolumeMounts {
			mounted = mounted || m.Name == "socket" && m.MountPath == filepath.Dir(socket)
		}
		if !mounted {
			t.Errorf("%s does not see %s", c.Name, socket)
		}
		for _, p := range c.Ports {
			if c.Name == "powerdns" && fmt.Sprint(p.ContainerPort) != conf["local-port"] {
				t.Errorf("PowerDNS listens at %s, and the manifest says %d", conf["local-port"], p.ContainerPort)
			}
		}
	}
	if _, err := exec.LookPath("pdns_server"); err != nil {
		t.Skip("no pdns_server in PATH: whether PowerDNS takes the settings is not tried")
	}
	if out, err := exec.Command("pdns_server", "--config-dir=kubernetes", "--config=check").CombinedOutput(); err != nil {
		t.Errorf("pdns_server --config=check: %v\n%s", err, out)
	}
}

func containerfile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func jsonArgs(t *testing.T, file, word string) (args []string) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + word + ` (\[.*\])$`).FindStringSubmatch(file)
	if m == nil {
		t.Fatalf("no %s", word)
	}
	if err := json.Unmarshal([]byte(m[1]), &args); err != nil {
		t.Fatal(err)
	}
	return args
}

func TestContainerfile(t *testing.T) {
	file := containerfile(t)
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	for _, want := range []string{"FROM golang:" + string(version[1]) + " AS build\n", "\nFROM scratch\n", "CGO_ENABLED=0", "\nUSER 65532:65532\n", "-trimpath", "ca-certificates.crt"} {
		if !strings.Contains(file, want) {
			t.Errorf("no %q", want)
		}
	}
	if from := strings.LastIndex(file, "\nFROM "); strings.Contains(file[from:], "\nRUN ") {
		t.Error("nothing can run in an empty image")
	}
}

// The program needs no other file: alone in an empty tree, as in the image, it answers.
func TestRunsFromScratch(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("chroot wants root")
	}
	if _, err := exec.LookPath("chroot"); err != nil {
		t.Skip("no chroot in PATH")
	}
	dir := t.TempDir()
	text, err := os.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "iss"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	for path := dir; path != "/"; path = filepath.Dir(path) { // readable for the user below
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o005 != 0o005 {
			os.Chmod(path, info.Mode().Perm()|0o005)
		}
	}
	out, err := exec.Command("chroot", "--userspec=65532:65532", dir, "/iss", "--help").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--peers")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func execStart(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("systemd/iss.service")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindSubmatch(text)
	if m == nil {
		t.Fatal("no ExecStart")
	}
	return string(m[1])
}

func TestUnit(t *testing.T) {
	text, err := os.ReadFile("systemd/iss.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Type=notify", "DynamicUser=yes", "StateDirectory=", "AmbientCapabilities=CAP_NET_BIND_SERVICE", "ProtectSystem=strict", "--dns=:53 "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s", want)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd-analyze in PATH: the unit is not verified")
	}
	// Verified with a program that is there.
	unit := filepath.Join(t.TempDir(), "iss.service")
	if err := os.WriteFile(unit, bytes.ReplaceAll(text, []byte("/usr/local/bin/iss"), []byte("/bin/true")), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
