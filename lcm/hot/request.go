package hot

import (
	"fmt"

	"vnfm/lcm"
	"vnfm/vnfpkg"
)

// Request is what a template is made from. Only Flavour and Instantiate are mandatory.
type Request struct {
	Flavour     *vnfpkg.Flavour
	Instantiate *lcm.InstantiateRequest // the connections; its instantiation level counts if LevelID is ""
	LevelID     string                  // the instantiation level that the VNF was instantiated at; "" = the default one
	ScaleLevels map[string]int          // by aspect; nil = those of the instantiation level

	// Images are the ids or names of Glance images by VDU or storage. Absent: the name in sw_image_data.
	Images map[string]string
	// Flavors are the ids or names of Nova flavors by VDU. Absent: requested_additional_capability_name, or else a flavor is
	// made that has the VDU's virtual resources.
	Flavors map[string]string
	// Zones are availability zones by VDU. Absent: Nova chooses.
	Zones map[string]string
	// Prefix comes before the names of the servers: "<prefix>-<vdu>". "": the servers have the names of their VDUs.
	Prefix string
}

// Template is a translated topology, ready to be sent to Heat.
type Template struct {
	Top        string            // the HOT of the stack, YAML
	Files      map[string]string // nested HOTs by the name that the resource types have
	Parameters map[string]any    // of the top HOT
	Notes      []Note            // what the VNFD asks for and the template does not have
}

// Note is a wish of the VNFD for a quality that the VIM is not asked for. The VNF runs without it.
type Note struct {
	Node   string // the node template or policy
	Detail string
}

// Untranslatable says that the VNFD of a package asks for what a template cannot express.
type Untranslatable struct {
	Node   string // the node template, policy or aspect
	Detail string
}

func (e *Untranslatable) Error() string { return fmt.Sprintf("%s: %s", e.Node, e.Detail) }
