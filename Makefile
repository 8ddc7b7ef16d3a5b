# Puts the program, its manual and its completions where git, man and the shells look for them:
#
#     make && sudo make install                   # below /usr/local
#     make install PREFIX=~/.local                # below the home directory
#     make install-data PREFIX=~/.local           # after 'cargo install': manual and completions only

PREFIX ?= /usr/local
DESTDIR ?=
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
BASHDIR ?= $(DATADIR)/bash-completion/completions
ZSHDIR ?= $(DATADIR)/zsh/site-functions
FISHDIR ?= $(DATADIR)/fish/vendor_conf.d
TARGET ?= $(or $(CARGO_TARGET_DIR),target)

# The program loads no shared libraries, and the functions of short commands are side by side: both halve the time of its
# start. The first takes the static glibc, which some systems have in a package of its own. Elsewhere the program is linked
# as any other. cargo cannot build macros that way for the host, so the host is named as if it were another machine.
HOST := $(shell rustc --print host-tuple 2>&-)
STATIC := $(and $(findstring -linux-gnu,$(HOST)),$(findstring /,$(shell $(CC) -print-file-name=libc.a)))
RUSTFLAGS_OF_HOST := ["-Ctarget-feature=+crt-static", "-Csymbol-mangling-version=v0"]
LINK := $(if $(STATIC),--target $(HOST) --config 'target.$(HOST).rustflags = $(RUSTFLAGS_OF_HOST)' \
    --config 'target.$(HOST).linker = "$(CURDIR)/link/in-order"')
BUILD := cargo build --profile dist --locked --bin git-colony $(LINK)
# 'sudo make install' may find no rustc to ask for the host.
PROGRAM ?= $(firstword $(wildcard $(TARGET)/*/dist/git-colony) $(TARGET)/dist/git-colony)

.PHONY: build install install-data uninstall record

build:
	$(BUILD)

install: install-data
	@test -x '$(PROGRAM)' || { echo "there is no $(PROGRAM): run 'make' first" >&2; exit 1; }
	install -d '$(DESTDIR)$(BINDIR)'
	install -m 755 '$(PROGRAM)' '$(DESTDIR)$(BINDIR)/git-colony'

install-data:
	install -d '$(DESTDIR)$(MANDIR)/man1' '$(DESTDIR)$(BASHDIR)' '$(DESTDIR)$(ZSHDIR)' '$(DESTDIR)$(FISHDIR)'
	install -m 644 man/*.1 '$(DESTDIR)$(MANDIR)/man1/'
	install -m 644 completions/git-colony.bash '$(DESTDIR)$(BASHDIR)/git-colony'
	install -m 644 completions/_git-colony '$(DESTDIR)$(ZSHDIR)/_git-colony'
	install -m 644 completions/git-colony.fish '$(DESTDIR)$(FISHDIR)/git-colony.fish'

uninstall:
	rm -f '$(DESTDIR)$(BINDIR)/git-colony'
	rm -f '$(DESTDIR)$(MANDIR)'/man1/git-colony.1 '$(DESTDIR)$(MANDIR)'/man1/git-colony-*.1
	rm -f '$(DESTDIR)$(BASHDIR)/git-colony' '$(DESTDIR)$(ZSHDIR)/_git-colony' '$(DESTDIR)$(FISHDIR)/git-colony.fish'

# Writes link/start.txt anew; takes as long as a build.
record:
	$(BUILD) --target-dir '$(TARGET)/record' --config 'profile.dist.package.git-colony.strip = "none"'
	link/record '$(TARGET)/record/$(HOST)/dist/git-colony' >link/start.new
	mv link/start.new link/start.txt
