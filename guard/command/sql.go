package command

import (
	"strings"
)

const (
	sqlRead   Role = "remote/read"
	sqlChange Role = "remote"
	sqlDelete Role = "remote/delete"
)

// SQLRole says what statements for a database do, the strictest of them:
// "remote/read", "remote", "remote/delete", or "unknown" where the client or the
// server is told to run a program or to use a file. It knows the backslash
// commands of psql and mysql and the dot commands of sqlite3.
func SQLRole(text string) Role {
	role := sqlRole(text, false, 0)
	if strings.Contains(text, `\'`) || strings.Contains(text, `\"`) { // MySQL and PostgreSQL end such strings in different places
		role = stricter(role, sqlRole(text, true, 0))
	}
	return role
}

func sqlRole(text string, backslash bool, depth int) Role {
	role := sqlRead
	s := sqlScan{text: text, backslash: backslash, depth: depth}
	for {
		words, more := s.statement()
		role = stricter(role, statement(words))
		if !more {
			break
		}
	}
	return stricter(role, s.role)
}

var sqlOrder = []Role{unknown, sqlDelete, sqlChange, sqlRead}

func stricter(a, b Role) Role {
	for _, r := range sqlOrder {
		if a == r || b == r {
			return r
		}
	}
	return sqlRead
}

// sqlScan parts SQL into statements of words in upper case. Strings become the
// word "'", quoted names "\"".
type sqlScan struct {
	text      string
	backslash bool // a backslash escapes within strings
	depth     int  // of dollar quotes
	clients   int  // commands for the client so far
	role      Role // what dollar quotes and client commands do
}

func (s *sqlScan) statement() (words []string, more bool) {
	start := true // of a line
	for s.text != "" {
		c := s.text[0]
		switch {
		case c == '\n':
			s.text = s.text[1:]
			start = true
			continue
		case c == ' ' || c == '\t' || c == '\r':
			s.text = s.text[1:]
			continue
		case c == ';':
			s.text = s.text[1:]
			return words, true
		case c == '.' && start && len(words) == 0, c == '\\':
			s.client()
		case strings.HasPrefix(s.text, "--") && (len(s.text) == 2 || s.text[2] <= ' '):
			_, s.text, _ = strings.Cut(s.text, "\n")
		case strings.HasPrefix(s.text, "/*!"): // MySQL runs it
			s.text = strings.TrimLeft(s.text[3:], "0123456789")
		case strings.HasPrefix(s.text, "/*"):
			_, s.text, _ = strings.Cut(s.text[2:], "*/")
		case c == '\'' || c == '"' || c == '`':
			words = append(words, string(c))
			s.quoted(c)
		case c == '$' && s.dollar():
			words = append(words, "'")
		case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
			n := 1
			for n < len(s.text) && (plain(s.text[n:n+1], "$") || s.text[n] >= 0x80) {
				n++
			}
			words = append(words, strings.ToUpper(s.text[:n]))
			s.text = s.text[n:]
		default:
			words = append(words, s.text[:1])
			s.text = s.text[1:]
		}
		start = false
	}
	return words, false
}

func (s *sqlScan) quoted(q byte) {
	for i := 1; i < len(s.text); i++ {
		switch {
		case s.text[i] == '\\' && s.backslash:
			i++
		case s.text[i] == q:
			s.text = s.text[i+1:]
			return
		}
	}
	s.text = ""
}

// dollar takes a dollar quote of PostgreSQL. What is in it counts too: it may
// be code, and other databases do not know these quotes.
func (s *sqlScan) dollar() bool {
	i := strings.IndexByte(s.text[1:], '$')
	if i < 0 || i > 0 && !plain(s.text[1:1+i], "") {
		return false
	}
	tag := s.text[:i+2]
	body, rest, _ := strings.Cut(s.text[len(tag):], tag)
	if s.depth < 4 {
		s.role = stricter(s.role, sqlRole(body, s.backslash, s.depth+1))
	} else {
		s.role = unknown
	}
	s.text = rest
	return true
}

// client takes a command for the client: it goes to the end of the line.
func (s *sqlScan) client() {
	line, rest, _ := strings.Cut(s.text, "\n")
	name := line[1:]
	if i := strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r == ';' }); i >= 0 {
		name = name[:i]
	}
	args := strings.TrimSpace(line[1+len(name):])
	mild := false
	if line[0] == '.' {
		mild = dotReads[name]
	} else {
		mild = slashReads[name] || len(name) > 0 && name[0] == 'd' && strings.Trim(name, "abcdefgilmnopruwxyACDEFNORSTXPtsv+") == ""
		mild = mild && (name != "g" && name != "gx" || args == "" || args[0] == ';')
	}
	if !mild || strings.ContainsAny(args, "`|") {
		s.role = unknown
	}
	if s.clients++; s.clients > 100 {
		s.role = unknown
	}
	if i := strings.IndexByte(line[1:], '\\'); i >= 0 && s.role != unknown { // psql takes several on one line
		s.text = s.text[1+i:]
		return
	}
	s.text = rest
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

var (
	dotReads = set(`tables schema headers header mode databases indexes indices dump show help quit exit width
		timeout echo nullvalue separator bail stats changes timer eqp explain fullschema print prompt dbinfo lint version sha3sum`)
	slashReads = set(`? h help q quit x timing pset a t H C f conninfo encoding l l+ list z echo qecho warn c connect
		sf sf+ sv sv+ errverbose G g gx gdesc u r p if elif else endif watch unset`)
	// calls are functions and procedures that run programs or use files.
	calls = set(`XP_CMDSHELL SP_OACREATE LOAD_EXTENSION SYS_EXEC SYS_EVAL PG_READ_FILE PG_READ_BINARY_FILE PG_LS_DIR LO_EXPORT LO_IMPORT
		LOAD_FILE DBLINK DBLINK_EXEC DBLINK_CONNECT WRITEFILE READFILE EDIT FTS3_TOKENIZER UTL_FILE UTL_HTTP DBMS_SCHEDULER
		PG_FILE_WRITE OPENROWSET SHELL`)
	changes = set(`INSERT UPDATE MERGE REPLACE CREATE ALTER GRANT REVOKE CALL EXEC EXECUTE DO IMPORT NEXTVAL SETVAL
		PG_TERMINATE_BACKEND PG_CANCEL_BACKEND PG_RELOAD_CONF SET_CONFIG`)
)

// statement says what one statement does.
func statement(words []string) Role {
	if len(words) == 0 {
		return sqlRead
	}
	role := sqlRead
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case calls[w] && next == "(" || w == "XP_CMDSHELL",
			w == "PROGRAM" && next == "'", w == "OUTFILE", w == "DUMPFILE", w == "INFILE":
			return unknown
		}
	}
	for len(words) > 0 && words[0] == "(" {
		words = words[1:]
	}
	if len(words) == 0 {
		return role
	}
	rest := words[1:]
	switch words[0] {
	case "SELECT", "VALUES", "TABLE", "WITH", "FROM":
		role = inner(rest)
	case "EXPLAIN":
		for len(rest) > 0 && (rest[0] == "VERBOSE" || rest[0] == "ANALYZE" || rest[0] == "QUERY" || rest[0] == "PLAN") {
			rest = rest[1:]
		}
		role = inner(rest)
		if role == sqlRead {
			role = stricter(role, inner(words))
		}
	case "BEGIN", "START":
		role = inner(rest)
	case "SHOW", "DESCRIBE", "DESC", "USE", "HELP", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "END", "STATUS", "ABORT":
	case "PRAGMA":
		if strings.Contains(strings.Join(rest, " "), "=") {
			role = sqlChange
		}
	case "SET":
		if len(rest) > 0 && (rest[0] == "GLOBAL" || rest[0] == "PERSIST" || rest[0] == "PASSWORD" || rest[0] == "@") {
			role = sqlChange
		}
	case "DROP", "DELETE", "TRUNCATE", "PURGE":
		role = sqlDelete
	case "ALTER":
		role = sqlChange
		if has(rest, "DROP") || has(rest, "TRUNCATE") {
			role = sqlDelete
		}
	case "COPY":
		switch {
		case has(rest, "STDIN"):
			role = sqlChange
		case !has(rest, "STDOUT"):
			role = unknown
		}
	case "SYSTEM", "SOURCE", "PAGER", "TEE", "EDIT", "LOAD", "INSTALL", "ATTACH", "EXPORT", "BACKUP", "RESTORE", "SPOOL", "HOST", "BULK":
		role = unknown
	default:
		role = stricter(sqlChange, inner(rest))
	}
	return role
}

// inner looks for what a query can hold: changes in WITH, SELECT INTO, functions.
func inner(words []string) Role {
	role := sqlRead
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case (w == "DELETE" && (next == "FROM" || next == "ONLY")), w == "DROP", w == "TRUNCATE" && (next == "TABLE" || i == 0), w == "DELETE" && i == 0:
			role = sqlDelete
		case changes[w] && next != "(" && next != "," && next != "" || changes[w] && next == "(" && w != "REPLACE" && w != "INSERT", w == "INTO":
			role = stricter(role, sqlChange)
		}
	}
	return role
}

func has(words []string, w string) bool {
	for _, x := range words {
		if x == w {
			return true
		}
	}
	return false
}
