// Package vnfpkg reads VNF packages and keeps the registry of them.
//
// A VNF package is a CSAR, a zip file in one of the two layouts of SOL004 4.1. Its entry definition is a VNFD, a TOSCA
// service template with the types of SOL001. [OpenCSAR] opens an archive without unpacking it, [CSAR.Describe] checks all of
// it and returns a [Description]: what the package management interface shows of the package (SOL003 10.5.2.2) and the
// VNFD as the model [Vnfd], which life cycle management works with:
//
//	csar, err := vnfpkg.OpenCSAR(file, size, vnfpkg.DefaultLimits())
//	if err != nil {
//		return err // *vnfpkg.Invalid names the file, the line and the reason
//	}
//	description, err := csar.Describe(ctx)
//	if err != nil {
//		return err // the same, several of them joined
//	}
//	flavour := description.Vnfd.Flavours["simple"]
//	levels := flavour.ScaleLevels("") // those of the default instantiation level
//	workers := flavour.VduCount("worker", levels, "")
//	hot, err := csar.BaseHOT(flavour.ID)
//
// [Inspect] does both, and checks the signatures of SOL004 5.1: it is the verdict of onboarding. A signed package comes as a CSAR whose
// manifest ends with a signature, or in a zip file with the signature beside it; [Trust] says who may have signed.
//
// Archives and everything in them come from strangers. Nothing is written to disk, nothing is fetched from elsewhere, and
// no size is believed before it has been read: see [Limits].
//
// [Build] makes a CSAR from a source tree and [Validate] checks a file or a source tree; they are the commands of the
// package author. [Registry] is the registry of onboarded packages.
package vnfpkg
