// Package command knows what programs do with their arguments. The knowledge is
// data, specs/*.yaml; this package loads it strictly and binds an argument
// vector to it. It never runs anything and never touches the disk.
package command

import (
	"slices"

	"handrail/guard"
)

// Role says what one word of a command line is. It is either kind[/action] of
// an effect on the thing that the word names ("read", "write/append",
// "delete", "network/send", "remote/publish": any pair of guard.Actions), or
// one of the special roles below.
type Role string

// The special roles. Roles names them all for the loader.
const (
	Text     Role = "text"     // a word that does nothing: a pattern, a number, a message
	Move     Role = "move"     // a path that is read and goes away (mv's sources)
	Into     Role = "into"     // a destination: the path itself, or a directory into which the read and move operands go by their base names
	Chdir    Role = "chdir"    // the directory in which the rest is to be understood
	Exec     Role = "exec"     // this word and all that follow are a command of their own (up to Until, where given)
	Shell    Role = "shell"    // shell source, read like a script; several Shell operands are one source, joined by spaces (eval, watch)
	Script   Role = "script"   // a file that is run as code in Spec.Lang; the words after it are its arguments
	Inline   Role = "inline"   // code in Spec.Lang, given on the command line
	Sed      Role = "sed"      // a sed script
	Awk      Role = "awk"      // an awk program
	SQL      Role = "sql"      // statements for a database
	URL      Role = "url"      // what is fetched: a URL or a host
	SendURL  Role = "send-url" // where data goes
	Method   Role = "method"   // an HTTP method
	Upload   Role = "upload"   // data to be sent; "@path" or "name=@path" reads a file
	Mention  Role = "mention"  // text that goes along with a request; "@path" sends a file
	Peer     Role = "peer"     // a path, or [user@]host:path or URL of another machine (scp, rsync, git)
	RevPath  Role = "revpath"  // a revision or a path; a path's uncommitted changes are lost
	Assign   Role = "assign"   // NAME=VALUE words, as many as there are, for the environment of what follows
	Config   Role = "config"   // KEY=VALUE of the program's own configuration (git -c)
	Dest     Role = "dest"     // [user@]host[:port] that is logged in to (ssh)
	Process  Role = "process"  // a process ID, job or name that gets a signal
	Stdin    Role = "stdin"    // standard input stands in this place ("-" of an interpreter)
	Filelist Role = "filelist" // a file whose lines are more arguments
	Sub      Role = "sub"      // an option's argument that names an entry of Spec.Sub, for what follows (python -m pip); operands are then no subcommands
)

// Roles are the special roles; every other role is kind[/action].
var Roles = []Role{
	Text, Move, Into, Chdir, Exec, Shell, Script, Inline, Sed, Awk, SQL, URL, SendURL, Method, Upload, Mention,
	Peer, RevPath, Assign, Config, Dest, Process, Stdin, Filelist, Sub,
}

// Style says how a program's options are written.
type Style string

const (
	GNU   Style = "gnu"   // the default: options anywhere, -abc clusters, -ovalue, --long[=value], unambiguous prefixes of --long, "--" ends them
	POSIX Style = "posix" // as gnu, but options end at the first operand
	Words Style = "words" // -long value or -long=value, no clusters; options anywhere (find, terraform, java)
	GoCmd Style = "go"    // as words with -x and --x alike, options end at the first operand
	Tar   Style = "tar"   // as gnu, but the first word may be a cluster without a dash
	None  Style = "none"  // no options: every word is an operand (echo, test)
)

// Flag says what one option does. The zero value is an option without
// argument and without effect. In a file, a mere role stands for {arg: role},
// and nothing for the zero value:
//
//	-o, --output: write
//	-f, --force:
type Flag struct {
	// Arg is the role of the option's argument; empty if it takes none.
	Arg Role `yaml:"arg"`
	// Optional says that the argument must be attached (--color=auto, -i.bak).
	Optional bool `yaml:"optional"`
	// Separate says that the argument is never attached: in a cluster the
	// letters go on (bash -oc pipefail).
	Separate bool `yaml:"separate"`
	// More are the roles of further arguments (jq --arg name value).
	More []Role `yaml:"more"`
	// Until ends the words of an Exec argument: ";", or two words, "{} +", of
	// which the first still belongs to the command. "" says that the end of the
	// call may end it too.
	Until []string `yaml:"until"`
	// Effects happen when the option is given: "kind[/action][ target]"; in the
	// target "$0" is the option's own argument.
	Effects []Template `yaml:"effects"`
	// Operands replace the operand roles when the option is given. Two options
	// that replace them differently make the call unread.
	Operands []Role `yaml:"operands"`
	// Turns changes roles when the option is given, after Operands: of the
	// operands (sed -i: {read: write}), or of another option's argument
	// (tar -c: {-f: write}).
	Turns map[string]Role `yaml:"turns"`
	// Ends says that the options end here: what follows are operands (python -c).
	Ends bool `yaml:"ends"`
	// Deep makes every path effect of the call deep.
	Deep bool `yaml:"deep"`
	// Harmless says that with this option the program only prints something or
	// pretends (--help, --version, --dry-run): what would be written, deleted,
	// installed or changed becomes Text, and templates fall away. Reading,
	// reaching hosts and running other programs or code stay.
	// --help on any program, and --version before a subcommand, are harmless
	// unless the spec lists them.
	Harmless bool `yaml:"harmless"`
	// Drop removes templates of these kinds, but not the option's own
	// (an --offline, a --check).
	Drop []guard.Kind `yaml:"drop"`
}

// Template is an effect that needs no word: "kind[/action][ target]". In the
// target, "$1" … "$9" stand for the operands and "$@" for each of them
// ("write $@.gz"). Where there are no operands, "$@" stands for the targets of
// Implied; "$#" is the last operand. A template whose operand is missing falls
// away. A target that ends in "*" is not exact ("write ./*"). A target of a path
// kind is a path relative to the directory of the call.
type Template string

// Spec says what a program, or one of its subcommands, does. It is complete:
// a flag, operand or subcommand that it does not list makes the call unread.
type Spec struct {
	// Doc is one line: what the program is for, and where a surprising entry
	// comes from.
	Doc string `yaml:"doc"`
	// Options is the style; empty is GNU. A subcommand inherits its parent's.
	Options Style `yaml:"options"`
	// Lenient says that options which are not listed take no argument and do
	// nothing that matters: right for programs that only read and print.
	// A word whose beginning is unknown could be an option: that makes the call
	// unread, unless the program is lenient and none of its options does more
	// than the word does as an operand.
	Lenient bool `yaml:"lenient"`
	// Flags maps "-f, --force" to what it does. A subcommand has its parents'
	// flags too, where it does not list them itself; short harmless ones (-v, -h)
	// excepted: docker -v prints a version, docker rm -v removes volumes. A key may also be
	//   - a pattern over the whole word, "-[0-9]*" or "+*"; with an argument, that
	//     is what follows the pattern's literal beginning;
	//   - "if=" or "*=": words name=value among the operands (dd, make), the
	//     argument is the value and Part.Key the name;
	//   - a word without letters: "(", "!" (find).
	// Two fields of the file are short for many entries, words between spaces:
	// plain ("-a -b --all": no argument, no effect) and takes (a Text argument).
	// In Flags they are like the rest.
	Flags map[string]Flag `yaml:"flags"`
	// Operands are roles in order. A role with "..." repeats; roles after it
	// are taken from the end ([read..., into] is cp). Too many words for the
	// list make the call unread. Exec and Script take all that follows; an
	// Assign is for as many NAME=VALUE words as there are ([assign, exec] is env).
	// "-" in the place of a Read or Script is bound as Stdin, of a Write as Text.
	Operands []Role `yaml:"operands"`
	// Words gives operands that match a pattern ("+*", "./*") a role of their own
	// in place of the one in Operands; the exact word wins, then the longest pattern.
	Words map[string]Role `yaml:"words"`
	// Dashdash are the roles of the words after "--", where they differ.
	Dashdash []Role `yaml:"dashdash"`
	// Implied are effects without operands: what the program touches when none
	// is given (ls reads ".").
	Implied []Template `yaml:"implied"`
	// Effects always happen.
	Effects []Template `yaml:"effects"`
	// Sub maps names to subcommands. A name may be a list ("rm, remove") or a
	// pattern ("delete-*"); the exact name wins, then the longest pattern. Where
	// the first operand is none of them, Operands apply if there are any;
	// otherwise the call is unread. Of its parent a subcommand takes over
	// Options, Lang and Flags, nothing else: Effects and the like are those of
	// the deepest entry.
	Sub map[string]*Spec `yaml:"sub"`
	// Use names the program whose entry this one is (docker compose:
	// {use: docker-compose}); then no other field but Doc may be given.
	Use string `yaml:"use"`
	// Lang is the language of Inline, Script and Stdin: shell, python, js,
	// ruby, perl, php, lua, r, go, ….
	Lang string `yaml:"lang"`
	// Reads says what standard input is to the program when it gets no script
	// or file: "" (data or nothing), "code" (in Lang), "args" (xargs), "sql".
	Reads string `yaml:"reads"`
	// Wrapper names the program in Command.Via when it only starts another.
	Wrapper bool `yaml:"wrapper"`
	// Deep makes every path effect deep (rm -r is a flag; rsync is always).
	Deep bool `yaml:"deep"`

	// Builds says that what it writes is made from the code of the workspace:
	// running that is running this code (go build -o, cc).
	Builds bool `yaml:"builds"`

	index *index // made by the loader
}

// Part is one word of the call with its role, or an effect of a template.
type Part struct {
	Role Role
	// Word is the argument; for templates the target.
	Word guard.Word
	// Index is the word's place in the arguments (0 is the first after the
	// program's name), or -1 for templates.
	Index int
	// Rest are the words of an Exec command (this one first), or the arguments
	// of a Script (or of the Stdin that stands for one).
	Rest []guard.Word
	// Deep says that all below a path is concerned.
	Deep bool
	// Flag is the option that took the word, by its full name, or "".
	Flag string
	// Key is the attached prefix of "name=value" operands (dd's "of"), or "".
	Key string
}

// Binding is an argument vector with its roles.
type Binding struct {
	// Spec is the entry that was used, the deepest subcommand's; nil when the
	// program is not in the table.
	Spec *Spec
	// Path is the program and its subcommands, by the first names of their
	// entries, as written where a pattern matched: [git push].
	Path []string
	// Parts are the words and effects in the order of the arguments, templates last.
	Parts []Part
	// Options are the options that were given, in order.
	Options []Option
	// Harmless says that a flag reduced the call to printing; Parts already
	// say so too.
	Harmless bool
	// Blind says that the name of a subcommand is not known.
	Blind bool
	// Unread are the words that the table does not list, for people.
	Unread []string
}

// Option is one option that was given.
type Option struct {
	Name  string // its full name (--recursive for --recurs); as written if not listed
	Index int    // of its word in the arguments
}

// Has reports whether one of these options was given.
func (b *Binding) Has(names ...string) bool {
	for _, o := range b.Options {
		if slices.Contains(names, o.Name) {
			return true
		}
	}
	return false
}
