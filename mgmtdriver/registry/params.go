package registry

import (
	"strconv"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/param"
)

// Parameter is the attribute of additionalParams that says what a registry is like.
const Parameter = "private_registry_installation_param"

// pointer is where it is in a request.
const pointer = "/additionalParams/" + Parameter

const defaultPort = 5000

// params are the parameters of a registry.
type params struct {
	sshCpName string
	login     param.Login
	imagePath string // of the VNF package; "" = the image is pulled
	port      int
	proxy     param.Proxy
}

// ofCall reads the parameters that the registry of a call was made from. *[mgmtdriver.Invalid] names the attribute that is wrong.
func ofCall(call *mgmtdriver.Call) (*params, error) {
	outer := param.NewReader("/additionalParams", call.Instance.AdditionalParams)
	r := outer.RequiredObject(Parameter)
	p := &params{
		sshCpName: r.Required("ssh_cp_name"), login: r.Login("ssh_"), imagePath: r.File("image_path", false), port: defaultPort, proxy: r.Proxy("proxy"),
	}
	if r.Has("port_no") {
		text := r.Number("port_no")
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			r.Invalid("port_no", "%q is not a port number, 1 to 65535.", text)
		}
		p.port = int(port)
	}
	return p, outer.Err()
}
