# Puts the program, its manual and its completions where git, man and the shells look for them:
#
#     make && sudo make install                   # below /usr/local
#     make install PREFIX=~/.local                # below the home directory
#     make install-data PREFIX=~/.local           # after 'cargo install': manual and completions only

PREFIX ?= /usr/local
# Not every shell replaces the '~' of PREFIX=~/.local.
override PREFIX := $(patsubst ~/%,$(HOME)/%,$(PREFIX))
DESTDIR ?=
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
BASHDIR ?= $(DATADIR)/bash-completion/completions
ZSHDIR ?= $(DATADIR)/zsh/site-functions
FISHDIR ?= $(DATADIR)/fish/vendor_conf.d
TARGET ?= $(or $(CARGO_TARGET_DIR),target)
PROGRAM ?= $(TARGET)/dist/git-colony

# The functions of short commands are side by side, so that a start touches fewer pages.
HOST := $(shell rustc --print host-tuple 2>/dev/null)
ORDER := $(if $(findstring -linux-gnu,$(HOST)),--config 'target.$(HOST).rustflags = ["-Csymbol-mangling-version=v0"]' \
    --config 'target.$(HOST).linker = "$(CURDIR)/link/in-order"')
BUILD := cargo build --profile dist --locked --bin git-colony $(ORDER)

.PHONY: build built install install-data uninstall record

build:
	$(BUILD)

built:
	@test -x '$(PROGRAM)' || { echo "there is no $(PROGRAM): run 'make' first" >&2; exit 1; }

install: built install-data
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

# Renews link/start.txt; takes as long as a build.
record:
	$(BUILD) --target-dir '$(TARGET)/record' --config 'profile.dist.package.git-colony.strip = "none"'
	link/record '$(TARGET)/record/dist/git-colony' >link/start.new
	mv link/start.new link/start.txt
