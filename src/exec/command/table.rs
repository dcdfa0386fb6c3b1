//! Programs that only read, as data: one row a program, with the options that would make it do more.

use super::judgement::Kind;

/// A program that only reads, unless one of the barred options is given.
pub(super) struct Row {
    /// One or more names, separated by blanks.
    pub names: &'static str,
    pub kind: Kind,
    /// Options that make it write, run or connect. `-x` is meant alone and among other letters, `--word` also abbreviated
    /// and with a value, `-word` exactly, `-word*` as a beginning, `--word!` in full only.
    pub barred: &'static str,
    /// Letters of options that take the rest of their argument as their value, so that no barred letter is in it.
    pub valued: &'static str,
    /// Which of its arguments need a look of their own.
    pub rule: Rule,
    /// What it does, for people.
    pub words: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    None,
    /// No arguments but options.
    NoOperands,
    /// No argument that sets something.
    NoEquals,
    /// No options but these, which have their value with them if they end with `=`.
    Only(&'static str),
    /// At most this many operands: the next one would be written.
    Operands(usize),
    Awk,
    Certificate,
    Date,
    Env,
    /// Options of letters and numbers, and nothing that has a meaning to a shell.
    Plain,
    Printf,
    /// Sets variables named by its arguments.
    Sets,
    /// The same, to what it reads.
    Reads,
    /// Options of the shell.
    Options,
    /// Options and literal numbers only.
    Numbers,
    Sed,
    Sqlite,
    Tar,
    Test,
}

const fn row(names: &'static str, kind: Kind, barred: &'static str, valued: &'static str, words: &'static str) -> Row {
    Row {
        names,
        kind,
        barred,
        valued,
        rule: Rule::None,
        words,
    }
}

const fn ruled(names: &'static str, kind: Kind, barred: &'static str, rule: Rule, words: &'static str) -> Row {
    Row {
        names,
        kind,
        barred,
        valued: "",
        rule,
        words,
    }
}

use Kind::{List, Other, Read, Search};

#[rustfmt::skip]
pub(super) const READERS: &[Row] = &[
    // Text of files.
    row("cat head tac nl cut fold fmt rev paste join expand unexpand pr", Read, "", "", "reads files"),
    // Others that unpack (zstdcat, lz4cat) write and delete files by their options, in many spellings.
    ruled("zcat bzcat xzcat", Read, "", Rule::Only("-f --force"), "reads files"),
    row("tail", Read, "", "", "reads the end of files"),
    row("bat batcat", Read, "cache --lessopen --pager --config-file --generate-config-file --diagnostic --acknowledgements", "", "reads files"),
    row("od hexdump hd strings", Read, "", "", "reads bytes of files"),
    Row { names: "xxd", kind: Read, barred: "-r --revert", valued: "lscgon", rule: Rule::Operands(1), words: "reads bytes of files" },
    row("wc cksum sum md5sum md5 sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum b3sum crc32", Read, "", "", "counts or sums up files"),
    row("column look tsort colrm ul", Read, "", "", "shapes text"),
    row("iconv", Read, "-o --output", "ft", "converts text"),
    row("tr", Read, "", "", "replaces characters"),
    row("sort", Read, "-o --output -T --temporary-directory --compress-program", "kt", "sorts lines"),
    Row { names: "uniq", kind: Read, barred: "", valued: "fsw", rule: Rule::Operands(1), words: "drops repeated lines" },
    row("comm cmp diff diff3 colordiff", Read, "-o --output --diff-program", "UCWFIx", "compares files"),
    row("sdiff", Read, "-o --output --diff-program", "Iw", "compares files"),
    row("jq", Read, "", "", "reads JSON"),
    row("yq", Read, "-i --inplace --in-place -s --split-exp --split-exp-file --security-enable-system-operator", "", "reads YAML"),
    row("xmllint", Read, "--output --shell -shell -o", "", "reads XML"),
    row("base64 base32 basenc", Read, "-o --output", "wbi", "encodes text"),
    ruled("sed gsed", Read, "", Rule::Sed, "prints lines by rule"),
    ruled("sqlite3", Read, "", Rule::Sqlite, "reads a database"),
    ruled("tar bsdtar gtar", List, "", Rule::Tar, "lists an archive"),
    ruled("awk gawk mawk nawk", Read, "", Rule::Awk, "prints fields of lines"),
    row("numfmt seq", Read, "", "", "prints numbers"),
    row("shuf", Read, "-o --output --random-source", "ni", "prints lines"),
    row("expr factor", Read, "", "", "computes"),
    row("tokei scc", Read, "-o --out --output --format-multi", "", "counts lines of code"),
    ruled("cloc", Read, "", Rule::Only("--by-file --by-file-by-lang --json --csv --md --yaml --xml --quiet --vcs=git --vcs=svn --vcs=auto --exclude-dir= --include-lang= --exclude-lang= --include-ext= --exclude-ext= --timeout= --hide-rate"), "counts lines of code"),
    ruled("openssl", Read, "", Rule::Certificate, "shows a certificate"),
    row("pdfinfo", Read, "", "", "shows facts about files"),
    // Finding.
    // Scripts that put their arguments into the text of a shell.
    ruled("zgrep zegrep zfgrep bzgrep xzgrep", Search, "", Rule::Plain, "searches text"),
    row("grep egrep fgrep pcregrep", Search, "", "", "searches text"),
    row("rg", Search, "-z --search-zip --pre --hostname-bin", "ABCEMdefgjmrtT", "searches text"),
    row("ag", Search, "--pager", "", "searches text"),
    row("ack", Search, "--pager --output --ackrc --env --create-ackrc", "", "searches text"),
    row("find gfind", Search, "-delete -exec -execdir -ok -okdir -fls -fprint* -files0-from", "", "finds files"),
    row("fd fdfind", Search, "-x -X --exec --exec-batch", "deEtSco", "finds files"),
    row("locate mlocate plocate whereis which type apropos whatis", Search, "", "", "finds programs or files"),
    // Lists of files and facts about them.
    row("ls dir vdir gls", List, "", "", "lists files"),
    row("exa eza lsd", List, "", "", "lists files"),
    row("tree", List, "-o -R", "", "lists files"),
    row("du", List, "", "", "shows how large files are"),
    row("df", List, "", "", "shows how full disks are"),
    row("stat", Read, "", "", "shows facts about files"),
    row("file", Read, "-C --compile -z --uncompress --uncompress-noreport -Z", "mFfPe", "tells kinds of files"),
    row("shellcheck", Read, "", "", "checks shell text"),
    row("basename dirname realpath readlink pwd pathchk", Read, "", "", "works out a path"),
    row("lsattr getfacl getfattr namei", Read, "", "", "shows facts about files"),
    // An argument with `@` stands for options in a file.
    row("nm objdump readelf size addr2line c++filt", Read, "--plugin @*", "", "reads a binary"),
    row("zipinfo lsar", List, "", "", "lists an archive"),
    // The machine and its processes.
    row("uname arch nproc lscpu lsblk lsusb lsmod lsns uptime free vmstat iostat mpstat getconf", Read, "", "", "shows facts about the machine"),
    row("lspci", Read, "-q -Q -A -O -H", "", "lists devices"),
    row("locale", Read, "", "", "shows the locale"),
    row("whoami id groups who w users last tty logname", Read, "", "", "shows users"),
    row("ps pgrep pidof pstree", Read, "", "", "lists processes"),
    ruled("pmap", Read, "", Rule::Only("-x -X -XX -d -q -p"), "lists processes"),
    row("netstat", Read, "", "", "lists connections"),
    row("ss", Read, "-K --kill -D --diag", "fF", "lists connections"),
    row("lsof", Read, "-D*", "", "lists open files"),
    row("journalctl", Read, "--vacuum-size --vacuum-time --vacuum-files --rotate --flush --sync --setup-keys --relinquish-var --smart-relinquish-var --update-catalog --cursor-file", "", "reads the journal"),
    ruled("sysctl", Read, "-w --write -p* --load --system -f", Rule::NoEquals, "shows kernel settings"),
    ruled("hostname", Read, "-F --file -b --boot", Rule::NoOperands, "shows the machine's name"),
    ruled("date gdate", Read, "", Rule::Date, "shows the time"),
    row("cal ncal", Read, "", "", "shows a calendar"),
    ruled("printenv", Read, "", Rule::None, "shows the environment"),
    ruled("env", Read, "", Rule::Env, "shows the environment"),
    // The shell itself.
    row("echo true false : cd pushd popd dirs times", Other, "", "", "does a step of the shell"),
    ruled("printf", Read, "-v*", Rule::Printf, "prints text"),
    ruled("test [", Read, "", Rule::Test, "tests a condition"),
    ruled("sleep", Other, "", Rule::None, "waits"),
    ruled("exit return break continue shift", Other, "", Rule::Numbers, "does a step of the shell"),
    ruled("read", Other, "", Rule::Reads, "sets a variable"),
    ruled("export local readonly unset", Other, "", Rule::Sets, "sets a variable"),
    ruled("set", Other, "", Rule::Options, "sets options of the shell"),
    ruled("wait", Other, "-p*", Rule::Numbers, "waits"),
];

/// Programs that only read when asked for some of their commands.
pub(super) struct Tool {
    pub names: &'static str,
    /// Options in front of the command that may be there, with their value if they end with `=`.
    pub before: &'static str,
    /// Commands that only read, separated by commas; one may be of several words.
    pub commands: &'static str,
    /// Options that make them do more, as in [`Row`].
    pub barred: &'static str,
    /// As in [`Row`].
    pub valued: &'static str,
}

const fn tool(names: &'static str, before: &'static str, commands: &'static str, barred: &'static str) -> Tool {
    Tool {
        names,
        before,
        commands,
        barred,
        valued: "",
    }
}

#[rustfmt::skip]
pub(super) const TOOLS: &[Tool] = &[
    tool("cargo", "--offline --locked --frozen -q --quiet -v --verbose --color=", "metadata,tree,version,help,search,pkgid,locate-project,read-manifest,verify-project,--list", "--config -Z -C"),
    tool("rustup", "", "show,toolchain list,target list,component list,which,--version", ""),
    tool("npm", "-s --silent", "ls,list,ll,la,view,info,show,outdated,explain,why,root,prefix,bin,search,config get,config list,config ls,--version,help-search,pkg get,audit signatures,whoami", "--script-shell --node-options --logs-dir --timing --cache"),
    tool("pnpm", "", "ls,list,ll,la,why,outdated,root,bin,licenses list,config get,config list", "--pnpmfile --global-pnpmfile --config*"),
    tool("pip pip3", "", "list,show,freeze,check,--version,config list,config get,index versions,debug,inspect", "--log -r --requirement --python --log-file --cache-dir"),
    tool("uv", "", "pip list,pip show,pip freeze,pip tree,pip check,--version", "-p --python --output-format-file -o --output-file --directory --project --config-file --cache-dir"),
    tool("poetry", "", "show,check,env info,env list,config --list,about,search", ""),
    tool("gem", "", "list,info,search,which,environment,env,contents,dependency,specification", ""),
    tool("go", "", "env", "-w -u -C*"),
    tool("go", "", "list,version,doc,help", "-export* --export* -compiled* --compiled* -toolexec* --toolexec* -exec* --exec* -overlay* --overlay* -modfile* --modfile* -mod --mod -mod=mod -gcflags* --gcflags* -ldflags* --ldflags* -asmflags* --asmflags* -gccgoflags* --gccgoflags* -compiler* --compiler* -pkgdir* --pkgdir* -o* -fix* --fix* -http* -C*"),
    tool("gh", "-R= --repo=", "pr view,pr list,pr diff,pr checks,pr status,issue view,issue list,issue status,run list,run view,release list,release view,repo view,repo list,workflow list,workflow view,auth status,search issues,search prs,search repos,search code,label list,gist list,gist view,status,--version", "-w --web"),
    tool("glab", "-R= --repo=", "mr view,mr list,mr diff,issue view,issue list,ci list,ci status,release list,release view,repo view", "-w --web"),
    // `-f` and `-c` have a value with some of the commands only.
    Tool { names: "kubectl oc", before: "-n= --namespace= --context=", commands: "get,describe,logs,top,version,api-resources,api-versions,cluster-info,explain,config view,config get-contexts,config current-context,rollout status,rollout history,auth can-i", barred: "--raw --kubeconfig! --kuberc! --output-directory! --server! -s --profile! --profile-output! --cache-dir! --log-file! --log-dir!", valued: "onlLk" },
    tool("helm", "-n= --namespace=", "list,ls,status,history,get all,get values,get manifest,get notes,show chart,show values,version,env,search repo,search hub", "--post-renderer --kubeconfig"),
    tool("docker podman", "--context=", "ps,images,logs,inspect,version,info,top,port,stats,diff,history,search,events,image ls,image inspect,image history,container ls,container inspect,container logs,container top,volume ls,volume inspect,network ls,network inspect,system df,system info,compose ps,compose logs,compose config,compose images,compose ls,compose version,context ls,context show", "-o --output -H --host"),
    tool("systemctl", "--user --no-pager --failed", "status,show,is-active,is-enabled,is-failed,is-system-running,list-units,list-unit-files,list-timers,list-sockets,list-dependencies,list-jobs,cat,get-default,show-environment", "-H --host -M --machine"),
    // Names of hosts are asked of others.
    tool("getent", "", "passwd,group,services,protocols,rpc", ""),
    tool("launchctl", "", "list,print", ""),
    tool("apt", "", "list,show,search,policy,depends,rdepends,showsrc", "-o --option -c --config-file"),
    tool("apt-cache", "", "show,search,policy,depends,rdepends,showpkg,pkgnames,madison,stats", "-o --option -c --config-file -p --pkg-cache -s --src-cache -g --generate"),
    tool("dpkg-query", "", "-l,-L,-S,-s,-W,--list,--listfiles,--search,--status,--show", ""),
    tool("dpkg", "", "-l,-L,-S,-s,--list,--listfiles,--search,--status,--print-architecture", "-i --install -r --remove -P --purge --unpack --configure --pre-invoke --post-invoke"),
    tool("rpm", "", "-q,-qa,-qi,-ql,-qf,--query", "-i --install -U --upgrade -e --erase --define -D --eval -E --pipe --load --macros --rcfile --qf --queryformat --specfile --predefine --undefine --dbpath --root --initdb --rebuilddb --import --setperms --setugids --setcaps --restore"),
    tool("brew", "", "list,ls,info,search,deps,leaves,outdated,uses,config,--version,--prefix,--cellar,desc", ""),
    tool("dnf yum", "", "list,info,search,repolist,provides", "--setopt -c --config"),
    tool("pacman", "", "-Q,-Qi,-Ql,-Qs,-Qo,-Qe,-Qm,-Qu,-Ss,-Si", "--hookdir --config --root --dbpath --gpgdir --sysroot --cachedir --logfile -y --refresh -u --sysupgrade -c --clean -w --downloadonly"),
    tool("terraform tofu", "", "show,version,providers schema,output,state list,state show,workspace list,workspace show,fmt -check", "-state-out* --state-out* -write* --write*"),
    tool("aws", "--profile= --region= --output=", "s3 ls,sts get-caller-identity,ec2 describe-instances,ec2 describe-images,ec2 describe-vpcs,ec2 describe-security-groups,ec2 describe-subnets,ec2 describe-regions,ec2 describe-volumes,iam list-users,iam list-roles,iam get-role,iam get-user,lambda list-functions,lambda get-function-configuration,logs describe-log-groups,logs describe-log-streams,logs filter-log-events,cloudformation describe-stacks,cloudformation list-stacks,ecs list-clusters,ecs describe-services,eks list-clusters,eks describe-cluster,rds describe-db-instances,dynamodb list-tables,dynamodb describe-table,s3api list-buckets,s3api list-objects-v2,s3api head-object,sqs list-queues,sns list-topics,configure list", "--endpoint-url --cli-input-json --cli-input-yaml --ca-bundle --generate-cli-skeleton"),
    tool("gcloud", "--project=", "config list,config get-value,auth list,projects list,compute instances list,compute zones list,container clusters list,info,version", ""),
    tool("az", "", "account show,account list,vm list,group list,group show,version", ""),
    // Its commands on packages run the package's own description.
    tool("swift", "", "--version", ""),
    tool("dotnet", "", "--info,--version,--list-sdks,--list-runtimes", ""),
    tool("conda mamba", "", "list,info,env list,search,config --show", ""),
    tool("flatpak snap", "", "list,info,search", ""),
    tool("asdf mise", "", "list,current,where,which,ls", ""),
    tool("hg", "", "status,log,diff,annotate,branches,tags,heads,parents,summary,identify,manifest,cat,files,root,paths", "--config -o --output --tool -R --repository --cwd --debugger"),
    tool("svn", "", "status,log,info,list,ls,cat,blame,diff,propget,proplist", "--diff-cmd --config-option --config-dir --diff3-cmd"),
    tool("timedatectl hostnamectl localectl", "", "status,show,list-timezones,list-locales", "-H --host"),
];

/// Programs of which only these forms read; each form is the words that the arguments begin with, `*` for any more, `+` for
/// any more that are no options and stand for none (`@file`).
#[rustfmt::skip]
pub(super) const FORMS: &[(&str, &[&str], &str)] = &[
    ("crontab", &["-l"], "lists scheduled commands"),
    ("mount", &["", "-l", "-v"], "lists what is mounted"),
    ("findmnt", &["*"], "lists what is mounted"),
    ("ifconfig", &["", "-a"], "shows network interfaces"),
    ("ip", &["a", "addr", "address", "addr show *", "a show *", "a s *", "link", "link show *", "l", "r", "route", "route show *", "route get *", "r show *", "neigh", "neigh show *", "-br a", "-br addr", "-br link", "-4 a", "-4 addr", "-6 a", "-6 addr", "-s link", "-s link show *", "-4 route", "-6 route", "rule", "rule show *", "-c a", "-j a", "-j addr", "-4 addr show *", "-6 addr show *", "-br addr show *", "-o addr show *", "-4 a show *", "-o link show *", "-o a", "-o addr"], "shows the network"),
    ("ulimit", &["", "-a", "-n", "-u", "-c", "-s"], "shows limits"),
    ("umask", &["", "-S"], "shows the mask of new files"),
    ("alias", &["", "-p"], "lists aliases"),
    ("jobs", &["", "-l", "-p", "-r", "-s", "-lr", "-ls"], "lists jobs"),
    ("history", &[""], "lists earlier commands"),
    ("kill", &["-l", "-l +", "-L"], "lists signals"),
    ("top", &["-b -n 1", "-bn1", "-bn 1", "-b -n1", "-l 1"], "lists processes"),
    ("7z", &["l +", "l -slt +", "l -ba +", "l -slt -ba +", "l -ba -slt +"], "lists an archive"),
    ("jar", &["tf +", "-tf +", "tvf +"], "lists an archive"),
    ("gzip", &["-l +", "-lv +", "-vl +", "-l -v +", "-v -l +", "-l -q +", "-dc +", "-cd +"], "reads an archive"),
    ("gunzip", &["-c +"], "reads an archive"),
    ("xz", &["-l +", "-lv +", "-dc +"], "reads an archive"),
    ("dmesg", &["", "-T"], "shows kernel messages"),
    ("fdisk", &["-l"], "lists disks"),
    ("sensors", &["", "-A", "-j", "-u"], "shows temperatures"),
    ("unzip", &["-l +", "-v +", "-Z +", "-Z1 +", "-t +", "-p +", "-c +", "-lv +", "-lq +", "-ql +", "-qql +", "-l -q +", "-q -l +", "-l -qq +", "-qq -l +", "-l -v +", "-v -l +"], "reads an archive"),
    ("ar", &["t +", "tv +", "p +"], "lists an archive"),
    ("rustc", &["--version", "-V", "-vV", "--version --verbose", "--print sysroot", "--print target-list", "--print cfg", "--print target-cpus", "--explain +"], "shows facts about the compiler"),
    ("node", &["--version", "-v"], "shows its version"),
    ("java", &["-version", "--version"], "shows its version"),
    ("go", &["version"], "shows its version"),
    ("poetry", &["version", "version -s", "version --short"], "shows the version of the project"),
    ("uv", &["version", "version --short", "python list", "python find"], "shows facts about the project"),
    ("terraform tofu", &["providers"], "lists providers"),
    ("tmux", &["ls", "list-sessions", "list-windows", "list-windows -a", "list-panes", "list-panes -a"], "lists terminals"),
    ("ldd", &["--version"], "shows its version"),
    ("python", &["--version", "-V"], "shows its version"),
    ("lsb_release", &["*"], "shows facts about the machine"),
    ("sw_vers", &["*"], "shows facts about the machine"),
    ("system_profiler", &["*"], "shows facts about the machine"),
    ("ip6tables", &["-L", "-L -n", "-S"], "lists firewall rules"),
    ("iptables", &["-L", "-L -n", "-S", "-L -n -v", "-nvL", "-nL"], "lists firewall rules"),
    ("loginctl", &["", "list-sessions", "list-users"], "shows users"),
    ("update-alternatives", &["--list +", "--display +", "--query +"], "shows alternatives"),
    ("xcode-select", &["-p", "--print-path", "--version"], "shows the chosen tools"),
    ("pkg-config", &["--list-all", "--modversion +", "--cflags +", "--libs +", "--cflags --libs +", "--libs --cflags +", "--exists +", "--version"], "shows facts about a library"),
    ("code", &["--version", "--list-extensions"], "shows facts about the editor"),
    ("curl", &["--version", "-V"], "shows its version"),
    ("openssl", &["version", "version -a", "s_client -help"], "shows its version"),
    ("sqlite3", &["--version", "-version"], "shows its version"),
    ("ssh-add", &["-l", "-L"], "lists keys"),
    ("command", &["-v *", "-V *"], "finds a program"),
];

/// Programs whose version may be asked for, as their only argument.
pub(super) const WITH_VERSION: &str = "ansible apt awk bash bazel bat bun bundle cargo clang clang++ cmake composer conda ctest curl dart \
    deno docker dotnet emacs ffmpeg fish flutter g++ gcc gdb gem gh ghc git go gradle grep helm java javac jq kubectl ld lldb llvm-config \
    lua make meson mvn mypy mysql nano nginx ninja node nodejs npm npx nvim perl php pip pip3 pnpm podman poetry pre-commit psql pylint \
    pytest python python2 python3 rake redis-cli rg ruby ruff rustc rustfmt rustup scala sed sh sort sqlite3 ssh swift tar terraform tmux \
    tsc uv vim wget yarn zig zsh";

/// Those that tell it by a short option too, and those that tell it in the way of Java.
pub(super) const WITH_SHORT_VERSION: &str = "bat cargo pip pip3 python python2 python3 rustc rustup ssh tmux uv";
pub(super) const WITH_SMALL_LETTER: &str = "clang g++ gcc nginx node npm perl php ruby tsc";
pub(super) const WITH_SINGLE_DASH: &str = "ant java javac mvn scala";

/// Git's commands that only read, whatever their other options.
pub(super) const GIT_READERS: &str = "status log diff show rev-parse ls-files ls-tree blame annotate shortlog describe cat-file rev-list \
    name-rev merge-base for-each-ref count-objects version diff-tree diff-index diff-files show-ref check-ignore check-attr \
    check-mailmap whatchanged show-branch cherry range-diff var verify-pack grep get-tar-commit-id patch-id stripspace \
    check-ref-format";

/// Configuration that may be given to git for one run: settings, or beginnings of them if they end with `.` or `=`.
pub(super) const GIT_SETTINGS: &[&str] = &[
    "color.",
    "advice.",
    "core.quotepath=",
    "core.pager=cat",
    "core.abbrev=",
    "diff.noprefix=",
    "diff.mnemonicprefix=",
    "diff.renames=",
    "log.date=",
    "status.",
    "column.",
    "grep.linenumber=",
];

/// Options of those that write a file or run a program.
pub(super) const GIT_BARRED: &str = "--output --ext-diff --textconv --show-signature --filters --exec --help -O --open-files-in-pager \
   ";
