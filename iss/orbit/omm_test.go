package orbit

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// One object in every format, as CelesTrak's GP endpoint writes it. Its number has outgrown the TLE.
func TestReadOMM(t *testing.T) {
	want := Elements{
		Name: "ISS (ZARYA)", Number: 270123456, Classification: 'U', Designator: "1998-067A",
		Epoch:      time.Date(2026, 3, 1, 4, 15, 32, 123456000, time.UTC),
		MeanMotion: 15.48919103, Eccentricity: .0005432, Inclination: 51.6325, Node: 123.4567, ArgPerigee: 210.9876, MeanAnomaly: 149.0001,
		BStar: .21906e-3, MeanMotionDot: .00012345, SetNumber: 999, RevolutionCount: 49876,
	}
	for f, file := range map[Format]string{JSON: "omm.json", XML: "omm.xml", KVN: "omm.kvn", CSV: "omm.csv"} {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		sets, err := Read(strings.NewReader(string(data)), f)
		if err != nil || len(sets) != 2 || sets[0] != want || sets[1].Number != 20580 || sets[1].Name != "HST" {
			t.Errorf("%s: %+v, %v", file, sets, err)
		}
		// One that is not right does not spoil the other.
		wrong := "51.63x5"
		if f == JSON {
			wrong = `"51.63x5"`
		}
		broken := strings.Replace(string(data), "51.6325", wrong, 1)
		sets, err = Read(strings.NewReader(broken), f)
		var p *ParseError
		if len(sets) != 1 || sets[0].Number != 20580 || !errors.As(err, &p) || !strings.Contains(err.Error(), `INCLINATION: "51.63x5" is not a number`) {
			t.Errorf("%s, broken: %d sets, %v", file, len(sets), err)
		}
	}
}

const object = `{"OBJECT_NAME":"A","EPOCH":"2026-03-01T00:00:00","MEAN_MOTION":15,"ECCENTRICITY":"0.001",
"INCLINATION":51,"RA_OF_ASC_NODE":1,"ARG_OF_PERICENTER":2,"MEAN_ANOMALY":3,"BSTAR":1e-4,"NORAD_CAT_ID":"7"}`

func TestReadJSON(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{object, 1, ""},
		{"[" + object + "," + object + "]", 2, ""},
		{"[" + object + ",", 1, "line 2, column"},
		{"[" + object + "] x", 1, "something after the JSON"},
		{"[" + object + "] []", 1, "something after the JSON"},
		{"[1]", 0, "1 where an object should be"},
		{"7", 0, "neither an array nor an object"},
		{strings.Replace(object, `"A"`, `{"B":1}`, 1), 0, "OBJECT_NAME holds more than a value"},
		{strings.Replace(object, "EPOCH", "EPOCHE", 1), 0, "line 1: EPOCH: missing"},
		{strings.Replace(object, "2026-03-01T00:00:00", "yesterday", 1), 0, `EPOCH: "yesterday"; want a date`},
		{strings.Replace(object, "2026-03-01T", "2026-060T", 1), 1, ""},
		{strings.Replace(object, `"OBJECT_NAME"`, `"BSTAR"`, 1), 0, "BSTAR, which stands in line 1 already"},
		{strings.Replace(object, `"NORAD_CAT_ID":"7"`, `"NORAD_CAT_ID":1000000000`, 1), 0, "from 0 to 999999999"},
		{strings.Replace(object, `"NORAD_CAT_ID":"7"`, `"NORAD_CAT_ID":7.5`, 1), 0, "not a whole number"},
		{strings.Replace(object, `"A"`, `"A","REF_FRAME":"EME2000"`, 1), 0, `REF_FRAME: "EME2000"; want TEME`},
		{strings.Replace(object, `"A"`, `"A","EPHEMERIS_TYPE":4`, 1), 0, "ephemeris type 4"},
		{strings.Replace(object, `"A"`, `"A","MEAN_ELEMENT_THEORY":"DSST"`, 1), 0, "want SGP4"},
		{strings.Replace(object, `0.001`, `1`, 1), 0, "eccentricity"},
		{strings.Replace(object, `0.001`, `nan`, 1), 0, "not a number"},
		{strings.Replace(object, `0.001`, `1e999`, 1), 0, "not a number"},
		{strings.Replace(object, `"A"`, `null`, 1), 1, ""},
	} {
		sets, err := Read(strings.NewReader(c.text), JSON)
		if len(sets) != c.n || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d sets, %v; want %d, %s", c.text, len(sets), err, c.n, c.want)
		}
	}
}

// The formats but JSON say where a value stands that is wrong.
func TestWhereOMMIsWrong(t *testing.T) {
	for _, c := range []struct {
		format Format
		text   string
		want   string
	}{
		{CSV, "OBJECT_NAME,MEAN_MOTION\nA,B\n", `line 2, column 3: MEAN_MOTION: "B" is not a number`},
		{CSV, "OBJECT_NAME,MEAN_MOTION\nA\n", "line 2, column 1: wrong number of fields"},
		{CSV, "OBJECT_NAME,MEAN_MOTION\n\"A\n", "line 2, column 4: extraneous"},
		{KVN, "CCSDS_OMM_VERS = 2.0\nMEAN_MOTION   = B\n", `line 2, column 17: MEAN_MOTION: "B" is not a number`},
		{KVN, "CCSDS_OMM_VERS = 2.0\nnonsense\n", `line 2, column 1: "nonsense" where KEY = VALUE should be`},
		{XML, "<ndm>\n<segment>\n<MEAN_MOTION>B</MEAN_MOTION></segment></ndm>", `line 3`},
		{XML, "<ndm>\n<segment>", "unexpected EOF"},
		{XML, "<ndm></ndm>", "no segment"},
		{JSON, "[\n{\"MEAN_MOTION\": \"B\"}]", `line 2, column 20: MEAN_MOTION: "B" is not a number`},
	} {
		sets, err := Read(strings.NewReader(c.text), c.format)
		if err == nil || len(sets) > 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %q: %v; want %s", c.format, c.text, err, c.want)
		}
	}
}

// A TLE and an OMM of the same elements are the same orbit.
func TestOMMIsTLE(t *testing.T) {
	e := issElements
	text := fmt.Sprintf("OBJECT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,EPHEMERIS_TYPE,CLASSIFICATION_TYPE,NORAD_CAT_ID,ELEMENT_SET_NO,REV_AT_EPOCH,BSTAR,MEAN_MOTION_DOT,MEAN_MOTION_DDOT\n"+
		"%s,%s,15.50103472,.0007417,51.6439,211.2001,17.6667,85.6398,0,U,25544,999,20248,.38792E-4,.1764E-4,0\n", e.Designator, e.Epoch.Format("2006-01-02T15:04:05.000000"))
	sets, err := Read(strings.NewReader(text), CSV)
	if err != nil || sets[0] != e {
		t.Errorf("%+v, %v", sets, err)
	}
}

func FuzzReadJSON(f *testing.F) { fuzzOMM(f, JSON, "omm.json") }
func FuzzReadXML(f *testing.F)  { fuzzOMM(f, XML, "omm.xml") }
func FuzzReadKVN(f *testing.F)  { fuzzOMM(f, KVN, "omm.kvn") }
func FuzzReadCSV(f *testing.F)  { fuzzOMM(f, CSV, "omm.csv") }

func fuzzOMM(f *testing.F, format Format, file string) {
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Fuzz(func(t *testing.T, text string) {
		sets, err := Read(strings.NewReader(text), format)
		if len(sets) == 0 && err == nil {
			t.Fatal("neither sets nor an error")
		}
		propagate(t, sets)
	})
}
