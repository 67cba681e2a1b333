# The modules of a program, from "go version -m -json", as a bill of materials in CycloneDX.
def component: {
  type: "library",
  name: .Path,
  version: .Version,
  purl: "pkg:golang/\(.Path)@\(.Version)",
  "bom-ref": "pkg:golang/\(.Path)@\(.Version)"
};
{
  bomFormat: "CycloneDX",
  specVersion: "1.5",
  version: 1,
  metadata: {component: (.Main | component + {type: "application"})},
  components: ([{Path: "stdlib", Version: (.GoVersion | ltrimstr("go"))}] + [.Deps[]? | .Replace // .] | map(component))
}
