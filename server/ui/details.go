package ui

import (
	"context"
	"strings"
	"time"

	"vnfm/lcm"
	"vnfm/vnfpkg"
	"vnfm/vnfpkg/filter"
)

// few is as many rows as a list in another page has.
const few = 10

// overview is what there is to do.
type overview struct {
	Now                          time.Time
	Counts                       []count
	Waiting, Running, Latest     []operationRow
	ReadsOperations, MoreWaiting bool
	MoreRunning                  bool
}

// count is a number with what it counts.
type count struct {
	Number     int
	Text, Path string
	Kind       string // failed or running, if it is one to look at
}

func (u *UI) overview(ctx context.Context, _ asked) (*content, error) {
	shown := overview{Now: time.Now()}
	for _, add := range []func(context.Context, *overview) error{u.addOperations, u.addInstances, u.addPackages, u.addVims} {
		if err := add(ctx, &shown); err != nil {
			return nil, err
		}
	}
	return &content{title: "Overview", shown: shown}, nil
}

func (u *UI) addOperations(ctx context.Context, to *overview) (err error) {
	reading, ok := u.may(ctx, readOperations)
	if !ok {
		return nil
	}
	to.ReadsOperations = true
	counts, err := u.config.Operations.CountOperations(reading)
	if err != nil {
		return err
	}
	running := 0
	for state, number := range counts {
		if state.Transient() {
			running += number
		}
	}
	operations := Root + "/operations"
	to.Counts = append(to.Counts, count{running, "operations running", operations + "?state=" + underWay, "running"},
		count{counts[lcm.StateFailedTemp], "waiting for a decision", operations + "?state=" + string(lcm.StateFailedTemp), "failed"})
	in := func(states ...string) lcm.Page {
		return lcm.Page{Limit: few, Where: []filter.Condition{equals("operationState", states...)}}
	}
	if to.Waiting, to.MoreWaiting, err = u.operationRows(reading, in(string(lcm.StateFailedTemp))); err != nil {
		return err
	}
	if to.Running, to.MoreRunning, err = u.operationRows(reading, in(statesOf(lcm.OperationState.Transient)...)); err != nil {
		return err
	}
	to.Latest, _, err = u.operationRows(reading, in(statesOf(lcm.OperationState.Final)...))
	return err
}

func (u *UI) addInstances(ctx context.Context, to *overview) error {
	reading, ok := u.may(ctx, readInstances)
	if !ok {
		return nil
	}
	counts, err := u.config.Instances.CountInstances(reading)
	to.Counts = append(to.Counts, count{counts[lcm.Instantiated], "instances instantiated", Root + "/instances", ""},
		count{counts[lcm.NotInstantiated], "not instantiated", Root + "/instances", ""})
	return err
}

func (u *UI) addPackages(ctx context.Context, to *overview) error {
	reading, ok := u.may(ctx, readPackages)
	if !ok {
		return nil
	}
	counts, err := u.config.Packages.CountPackages(reading)
	to.Counts = append(to.Counts, count{counts[vnfpkg.Onboarded], "packages onboarded", Root + "/packages", ""})
	return err
}

func (u *UI) addVims(ctx context.Context, to *overview) error {
	reading, ok := u.may(ctx, readVims)
	if !ok {
		return nil
	}
	number, err := u.config.Vims.CountVims(reading)
	to.Counts = append(to.Counts, count{number, "VIMs", Root + "/vims", ""})
	return err
}

// operationContent is one operation.
type operationContent struct {
	operationRow
	Now     time.Time
	Actions []action
	Nodes   []lcm.NodeLog
	Request string // its parameters, secrets masked
}

func (u *UI) operation(ctx context.Context, asked asked) (*content, error) {
	found, err := u.config.Operations.Operation(ctx, asked.id)
	if err != nil {
		return nil, err
	}
	names, err := u.names(ctx, []*lcm.Operation{found})
	if err != nil {
		return nil, err
	}
	shown := operationContent{operationRow: operationRow{found, names[found.VnfInstanceID]}, Now: time.Now(), Actions: u.actions(ctx, found)}
	if shown.Nodes, err = u.config.Operations.NodeLogs(ctx, asked.id); err != nil {
		return nil, err
	}
	if shown.Request, err = document(found.Params); err != nil {
		return nil, err
	}
	title := string(found.Type) + " " + shown.Name
	return &content{title: strings.TrimSpace(title), over: found.State.Final(), shown: shown}, nil
}

// vnfcRow is a VNFC.
type vnfcRow struct {
	lcm.VnfcResourceInfo
	State lcm.VnfState
	Cps   []cpRow
}

// cpRow is a connection point with its addresses.
type cpRow struct{ Name, Addresses string }

// linkRow is an external network with the connection points that are on it.
type linkRow struct{ ID, Network, Vim, Cps string }

// instanceContent is one VNF instance.
type instanceContent struct {
	*lcm.VnfInstance
	Now             time.Time
	Vnfcs           []vnfcRow
	Links           []linkRow
	Operations      []operationRow
	ReadsOperations bool
	MoreOperations  bool
	Metadata        string
}

func (u *UI) instance(ctx context.Context, asked asked) (*content, error) {
	found, err := u.config.Instances.Instance(ctx, asked.id)
	if err != nil {
		return nil, err
	}
	shown := instanceContent{VnfInstance: found, Now: time.Now()}
	if shown.Metadata, err = document(found.Metadata); err != nil {
		return nil, err
	}
	if info := found.InstantiatedVnfInfo; info != nil {
		shown.Vnfcs, shown.Links = vnfcRows(info), linkRows(info)
	}
	if reading, ok := u.may(ctx, readOperations); ok {
		shown.ReadsOperations = true
		page := lcm.Page{Limit: few, Where: []filter.Condition{equals("vnfInstanceId", asked.id.String())}}
		if shown.Operations, shown.MoreOperations, err = u.operationRows(reading, page); err != nil {
			return nil, err
		}
	}
	return &content{title: found.Name, shown: shown}, nil
}

func vnfcRows(info *lcm.InstantiatedVnfInfo) []vnfcRow {
	states := map[string]lcm.VnfState{}
	for _, vnfc := range info.VnfcInfo {
		states[vnfc.ID] = vnfc.VnfcState
	}
	rows := make([]vnfcRow, len(info.VnfcResourceInfo))
	for i, vnfc := range info.VnfcResourceInfo {
		rows[i] = vnfcRow{VnfcResourceInfo: vnfc, State: states[vnfc.ID]}
		for _, cp := range vnfc.VnfcCpInfo {
			rows[i].Cps = append(rows[i].Cps, cpRow{cp.CpdID, addresses(cp.CpProtocolInfo)})
		}
	}
	return rows
}

// addresses are those that were asked for.
func addresses(protocols []lcm.CpProtocolInfo) string {
	var found []string
	for _, protocol := range protocols {
		if protocol.IPOverEthernet == nil {
			continue
		}
		if mac := protocol.IPOverEthernet.MacAddress; mac != "" {
			found = append(found, mac)
		}
		for _, ip := range protocol.IPOverEthernet.IPAddresses {
			if len(ip.Addresses) == 0 {
				found = append(found, "dynamic "+ip.Type)
			}
			found = append(found, ip.Addresses...)
		}
	}
	return strings.Join(found, ", ")
}

func linkRows(info *lcm.InstantiatedVnfInfo) []linkRow {
	rows := make([]linkRow, len(info.ExtVirtualLinkInfo))
	for i, link := range info.ExtVirtualLinkInfo {
		rows[i] = linkRow{ID: link.ID, Network: link.ResourceHandle.ResourceID, Vim: link.ResourceHandle.VimConnectionID}
		var cps []string
		for _, known := range info.VnfVirtualLinkResourceInfo {
			if known.VnfVirtualLinkDescID == link.ID {
				cps = connectionPoints(info, known.VnfLinkPorts)
			}
		}
		rows[i].Cps = strings.Join(cps, ", ")
	}
	return rows
}

// connectionPoints are those that have one of some ports, with the VDUs that they belong to.
func connectionPoints(info *lcm.InstantiatedVnfInfo, ports []lcm.VnfLinkPortInfo) []string {
	of := map[string]string{}
	for _, vnfc := range info.VnfcResourceInfo {
		for _, cp := range vnfc.VnfcCpInfo {
			of[cp.ID] = cp.CpdID
		}
	}
	var names []string
	for _, port := range ports {
		if name := of[port.CpInstanceID]; name != "" {
			names = append(names, name)
		}
	}
	return names
}
