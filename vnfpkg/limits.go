package vnfpkg

import "fmt"

// Limits bound what is read of an archive that comes from a stranger. Every field must be set; start from [DefaultLimits].
type Limits struct {
	ArchiveBytes  int64 // size of the zip file
	ContentBytes  int64 // sum of the sizes of its files
	Ratio         int64 // ContentBytes : ArchiveBytes, for each file and for the sum; the first 64 MiB are free
	Entries       int   // files and directories
	PathDepth     int   // elements of a path
	DocumentBytes int64 // size of a file that is parsed: YAML, TOSCA.meta, manifest, HOT
	DocumentNodes int   // YAML nodes of the VNFD, and of a HOT, with aliases expanded
	DocumentDepth int   // nesting of YAML
	Documents     int   // files of the VNFD, and files of a BaseHOT
}

// MaxScaleLevel bounds the max_scale_level of a scaling aspect, whose levels are counted one by one.
const MaxScaleLevel = 1000

// DefaultLimits allow packages with VM images of some 100 GiB.
func DefaultLimits() Limits {
	return Limits{
		ArchiveBytes:  1 << 38,
		ContentBytes:  1 << 39,
		Ratio:         200,
		Entries:       10_000,
		PathDepth:     32,
		DocumentBytes: 1 << 20,
		DocumentNodes: 100_000,
		DocumentDepth: 100,
		Documents:     100,
	}
}

// Invalid says what is wrong with a package: the author has to mend it. Several of them come joined.
type Invalid struct {
	File   string // in the CSAR; "" = the archive itself
	Line   int    // 0 = the file as a whole
	Reason string
}

func (e *Invalid) Error() string {
	switch {
	case e.File == "":
		return e.Reason
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.File, e.Reason)
	default:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
}
