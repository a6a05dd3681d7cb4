package powerdns

import "fmt"

// Settings are the lines of pdns.conf that the service needs. The connection is what
// remote-connection-string wants, such as "http:url=http://127.0.0.1:8053/dns" or
// "unix:path=/run/iss/powerdns.sock".
func Settings(connection string, dnssec bool) string {
	yes := "no"
	if dnssec {
		yes = "yes"
	}
	return fmt.Sprintf(`launch=remote
remote-connection-string=%s
remote-dnssec=%s
# The station is elsewhere in a second, and by default these keep records for 20. One second
# each carries floods and spares a call in three; 0 turns them off.
cache-ttl=1
query-cache-ttl=1
negquery-cache-ttl=60
# No transfers (there is no list of all names) and nothing to tell.
disable-axfr=yes
any-to-tcp=yes
version-string=anonymous
`, connection, yes)
}
