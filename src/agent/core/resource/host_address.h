/* The address by which this host is known on its network. */
#pragma once

#define HOST_ADDRESS_BYTES 46 /* INET6_ADDRSTRLEN */

/* The address of the interface with the default route, or with the first route; IPv4 if there is one. Sends
 * nothing and resolves no name. Without a network: 127.0.0.1. `root` is the prefix of /proc, "" except in
 * tests. */
void host_address(const char *root, char address[HOST_ADDRESS_BYTES]);
