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
PROGRAM ?= $(TARGET)/release/git-colony

.PHONY: build built install install-data uninstall

build:
	cargo build --release --locked --bin git-colony

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
