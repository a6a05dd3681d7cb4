// Package orbit says where a satellite is.
//
// What is known of some 30,000 objects around the Earth is published as element sets:
// ten numbers that say how an orbit lies and where on it the object was at one moment, the
// epoch. They come as two lines of fixed columns (TLE, made for punched cards, and out of
// catalogue numbers above 339999) or as an OMM, the same by keyword in JSON, XML, KVN or
// CSV. [Read] reads all of them:
//
//	sets, err := orbit.Read(body, orbit.JSON)
//	o, err := orbit.New(sets[0], orbit.WGS72, orbit.Improved)
//	place, err := o.Below(time.Now()) // latitude and longitude in degrees, height in km
//
// The numbers are means, fitted with one theory, and only that theory gives the position
// back: SGP4, with its deep-space half SDP4 for periods from 225 minutes. This is an
// implementation of the equations of F. R. Hoots and R. L. Roehrich, "Models for
// propagation of NORAD element sets", Spacetrack Report #3 (1980), as corrected by D. A.
// Vallado, P. Crawford, R. Hujsak, T. S. Kelso, "Revisiting Spacetrack Report #3", AIAA
// 2006-6753, and it meets the states published with the latter to a tenth of a millimetre.
//
// That says nothing about the sky. The theory itself is 1 to 3 km off at epoch and gets
// worse by 1 to 3 km a day, faster for low orbits when the sun is active, and without any
// limit where the object has manoeuvred. An element set of last week is a guess.
//
// From inertial coordinates (TEME, in which the theory works) to the ground there are
// three steps, each a function: [UT1] and [SiderealTime] tell how far the Earth has
// turned, [State.EarthFixed] turns with it, [Vector.Place] gives latitude, longitude and
// height on the WGS-84 ellipsoid. Polar motion, up to 15 m, is left out. The rest is
// what one asks then: [Orbit.Track] on the map, [Vector.Footprint] from where it is
// above the horizon, [Place.Look] where to look, [Orbit.Passes] when, [Sun] and [Light]
// whether it shines.
package orbit
