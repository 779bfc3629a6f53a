package text

// Nearest returns the name that word was probably meant to be, or "".
func Nearest(word string, names []string) string {
	if len(word) < 3 {
		return ""
	}
	best, near := "", (len(word)+2)/3+1
	for _, name := range names {
		if d := distance(word, name); d < near {
			best, near = name, d
		}
	}
	return best
}

// distance is Levenshtein's, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, corner+1, row[j]+1)
		}
	}
	return row[len(b)]
}
