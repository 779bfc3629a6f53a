# The project in which the oracle runs commands, and the home directory beside
# it. It is made once, inside the sandbox; every command gets a fresh copy.
set -euo pipefail
umask 022

mkdir -p "$HOME/.config" "$HOME/notes" bin cmd/app docs src/lib src/api tests scripts data assets pkg/util dist build old packages/core config tmp logs
printf 'a note\n' >"$HOME/notes/today.txt"
cat >"$HOME/.npmrc" <<'E'
fetch-retries=0
offline=true
update-notifier=false
logs-max=0
E
mkdir -p "$HOME/.config/go/telemetry"
echo off >"$HOME/.config/go/telemetry/mode"

for i in $(seq 40); do echo "line $i of file.txt, foo bar TODO $((i % 7))"; done >file.txt
cp file.txt a.txt
tac file.txt >b.txt
printf 'three\none\ntwo\none\n' >list.txt
printf 'one\nthree\n' >c.txt
cp list.txt names.txt
cp list.txt in.txt
cp list.txt input.txt
printf 'some notes\nfoo\nbar baz\n' >notes.txt
printf 'a.txt\nb.txt\n' >files.txt
printf 'https://example.org/x\n' >urls.txt
printf 'name,age,city\nann,31,Oslo\nbob,17,Rome\ncid,45,Oslo\n' >data.csv
cp data.csv data/people.csv
printf '{"name":"demo","version":"1.2.3","list":[1,2,3],"items":[{"id":1,"name":"x"},{"id":2,"name":"y"}],"nested":{"key":"value"}}\n' >data.json
cp data.json config.json
cp data.json data/data.json
cp data.json response.json
printf 'name: demo\nlist:\n  - a\n  - b\n' >config.yaml
printf 'KEY=value\nDEBUG=1\n' >config/app.env
printf '[section]\nkey = value\n' >config/app.ini
printf 'x\0y\377binary' >data/blob.bin
printf '\211PNG\r\n\032\n not an image' >logo.png
cp logo.png assets/logo.png
printf 'error: one\nwarning: two\ninfo: three\nERROR four\n' >app.log
cp app.log build.log
cp app.log dev.log
cp app.log logs/app.log
printf 'a name with spaces\n' >'with space.txt'
printf 'crlf\r\nlines\r\n' >crlf.txt
printf '# Demo\n\nA project. See docs/.\n\n## Use\n\nmake\n' >README.md
printf '# Changes\n\n## 1.2.3\n- first\n' >CHANGELOG.md
printf 'MIT\n' >LICENSE
printf '# Guide\n\nfoo\n' >docs/guide.md
printf '# API\n' >docs/api.md
printf '# Old\n' >docs/old.md

cat >package.json <<'E'
{"name": "demo", "version": "1.2.3", "main": "src/index.js",
 "scripts": {"test": "node tests/test.js", "build": "mkdir -p dist && cp src/index.js dist/", "lint": "echo lint", "start": "node src/index.js"}}
E
printf '{"name": "demo", "version": "1.2.3", "lockfileVersion": 3, "packages": {"": {"name": "demo", "version": "1.2.3"}}}\n' >package-lock.json
printf '{"compilerOptions": {"strict": true}}\n' >tsconfig.json
printf 'console.log("index");\nmodule.exports = {};\n' >src/index.js
cp src/index.js index.js
cp src/index.js app.js
cp src/index.js server.js
printf 'export const foo = 1; // TODO\n' >src/index.ts
for f in app main util api/client lib/helper; do printf 'export function foo() { return "%s"; }\n' "$f" >"src/$f.ts"; done
printf 'require("assert").equal(1, 1); console.log("ok");\n' >tests/test.js
printf '{"name": "core", "version": "0.0.1"}\n' >packages/core/package.json

printf 'module demo\n\ngo 1.21\n' >go.mod
: >go.sum
printf 'package main\n\nfunc main() { println("hi") }\n' >main.go
printf 'package main\n\nfunc main() { println("app") }\n' >cmd/app/main.go
printf 'package util\n\n// Foo is foo.\nfunc Foo() int { return 1 }\n' >pkg/util/util.go
printf 'package src\n\nfunc Foo() int { return 2 }\n' >src/main.go
printf 'package old\n' >old/old.go

printf 'print("hi")\n' >script.py
cp script.py app.py
cp script.py main.py
cp script.py src/main.py
printf 'def test_ok():\n    assert True\n' >tests/test_app.py
cp tests/test_app.py test.py
printf 'requests==2.0\n' >requirements.txt
printf '[project]\nname = "demo"\nversion = "0.1"\n' >pyproject.toml
printf '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
printf 'fn main() { println!("hi"); }\n' >src/main.rs
printf '//go:build ignore\n#include <stdio.h>\nint main(void) { puts("hi"); return 0; }\n' >main.c
cp main.c src/main.c
printf '//go:build ignore\nint answer(void) { return 42; }\n' >src/answer.c
printf 'CREATE TABLE t(a);\nINSERT INTO t VALUES (1);\n' >schema.sql
printf 'all: build\nbuild:\n\t@mkdir -p build\n\t@echo built > build/out\ntest:\n\t@echo tested\nlint:\n\t@echo linted\nclean:\n\trm -rf build\n.PHONY: all build test lint clean\n' >Makefile
printf 'FROM scratch\n' >Dockerfile
printf '#!/bin/sh\necho "$@"\necho built > build/marker\n' >scripts/build.sh
printf '#!/bin/bash\necho script "$@"\n' >script.sh
cp script.sh run.sh
cp script.sh scripts/test.sh
printf '#!/bin/bash\necho tool "$@"\n' >bin/tool
chmod +x scripts/*.sh script.sh run.sh bin/tool
ln -s README.md link.md
ln -s src srclink
ln file.txt hard.txt

printf '*.log\ndist/\nbuild/\nnode_modules/\n*.o\ntmp/\n' >.gitignore
printf 'made\n' >dist/bundle.js
printf 'made\n' >build/old.o
printf 'made\n' >tmp/cache
mkdir -p node_modules/.bin
if command -v go >/dev/null; then # into the cache
	go build ./... && go vet ./... && go test ./... >/dev/null
fi
for t in tsc eslint prettier jest vitest; do
	printf '#!/bin/sh\necho %s "$@"\n' "$t" >"node_modules/.bin/$t"
	chmod +x "node_modules/.bin/$t"
done

git init -q --template= -b main
git config user.name Dev
git config user.email dev@example.org
git add -A
git commit -qm first
sed 's/line 3 /line three /; s/bar/BAR/' file.txt >file.new
diff -u --label a/file.txt --label b/file.txt file.txt file.new >fix.patch || true
diff -u file.txt file.new >plain.patch || true
rm file.new
git branch feature
git checkout -q feature
printf 'feature\n' >feature.txt
git add feature.txt
git commit -qm feature
git checkout -q main
printf 'second\n' >>docs/guide.md
git commit -qam 'docs: second'
git tag v1.0.0
printf 'stashed\n' >>docs/api.md
git stash -q
printf 'changed here\n' >>notes.txt
printf 'new\n' >untracked.txt
printf 'staged\n' >staged.txt
git add staged.txt fix.patch plain.patch
git clone -q --bare . "$HOME/origin.git" 2>/dev/null
git remote add origin "$HOME/origin.git"
git gc -q

tar cf archive.tar docs src/index.ts
tar czf archive.tar.gz docs src/index.ts
cp archive.tar.gz archive.tgz
tar czf backup.tar.gz data
if command -v zip >/dev/null; then zip -qr archive.zip docs; fi
gzip -k app.log && mv app.log.gz big.log.gz
printf 'text\n' | gzip >text.gz
printf 'text\n' | bzip2 >text.bz2
printf 'text\n' | xz >text.xz
if command -v zstd >/dev/null; then printf 'text\n' | zstd -q >text.zst; fi
sha256sum a.txt b.txt >SHA256SUMS
base64 data/blob.bin >blob.b64
if command -v sqlite3 >/dev/null; then sqlite3 app.db 'CREATE TABLE users(id, name); INSERT INTO users VALUES (1, "ann")'; fi
if command -v cpio >/dev/null; then find docs | cpio -o --quiet >docs.cpio; fi

find . -path ./.git -prune -o -exec touch -h -d 2026-01-02T03:04:05Z {} +
git update-index -q --refresh || true
