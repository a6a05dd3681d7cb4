// Package sky keeps what is known of the objects in the sky, in memory: by number, by
// name, and where each is now.
//
//	c := sky.NewCatalogue(sky.BuiltIn())
//	o, err := c.Now().Find("iss")            // or 25544, hubble, goes-15, 1998-067a
//	p, err := o.At(time.Now())               // latitude, longitude, height, speed, light
//	pass, err := o.NextPass(vienna, time.Now(), 10)
//	fmt.Println(o.Name, p.Latitude, p.Longitude, o.Age(time.Now()), c.Now().Origin)
//
// A [Sky] never changes. A [Catalogue] holds the current one and swaps it for a newer
// whole: readers take no lock, and one that has begun with a sky ends with it.
//
// # Names
//
// Names are made to fit into a label of the DNS: letters, digits and hyphens, in lower
// case ([Label]). An object answers to
//
//   - its catalogue number, with or without leading zeros: 25544;
//   - its international designator: 1998-067a;
//   - a few names that people use, for a few objects: iss, hubble, css;
//   - its name in the catalogue: iss-zarya, and the parts of it in front of and within
//     brackets: ews-g2 and goes-15 for EWS-G2 (GOES 15);
//   - that name with its number, whatever other objects are called: cosmos-2251-deb-33759.
//
// What comes first in this list wins. A name that several objects have at the same
// place of the list belongs to none of them: Find answers with an [AmbiguousError] that
// lists them. It never picks one.
//
// # Age
//
// Elements lose their worth with time. [Object.Freshness] says whether a set is fresh,
// old or too old ([Old], [TooOld]), and [Uncertainty] how far off a position from it
// may be. Whoever shows a position shows that, too.
package sky
