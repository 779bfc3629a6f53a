package sandbox

import "strings"

// proxyAddress is where the proxy listens in the network of a command; free in
// every new network namespace.
const proxyAddress = "127.0.0.1:3128"

// proxied returns env with the proxy at address in it, in the forms that
// programs read, and without what would lead past it. token is what the proxy
// wants to see, of letters and digits; "" is nothing.
func proxied(env []string, address, token string) []string {
	proxy := "http://" + address
	if token != "" {
		proxy = "http://handrail:" + token + "@" + address
	}
	set := map[string]string{
		"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy, "http_proxy": proxy, "https_proxy": proxy, "all_proxy": proxy,
		"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1",
		"npm_config_proxy": proxy, "npm_config_https_proxy": proxy, "YARN_HTTP_PROXY": proxy, "YARN_HTTPS_PROXY": proxy,
		"PIP_PROXY": proxy, "CARGO_HTTP_PROXY": proxy, "NODE_USE_ENV_PROXY": "1",
	}
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if _, ours := set[name]; !ours {
			out = append(out, kv)
		}
	}
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	return out
}
