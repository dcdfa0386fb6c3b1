//! Programs and their commands that destroy or give away, as data.

use crate::exec::command::word::Word;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Names of programs, the words that their arguments must hold in this order (commas separate choices; `-x` and `--word`
/// anywhere; nothing for any arguments), and what they do in words that complete "it …".
type Row = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const DANGERS: &[Row] = &[
    ("shutdown reboot halt poweroff", "", "stops the machine"),
    ("init telinit", "0,6,1,S,s", "stops the machine"),
    ("systemctl", "poweroff,reboot,halt,kexec,suspend,hibernate,emergency,rescue,isolate", "stops the machine"),
    ("systemctl", "stop,disable,mask,kill,revert", "stops services"),
    ("service", "--full-restart", "stops services"),
    ("launchctl", "unload,remove,bootout,disable", "stops services"),
    ("rc-service service", "ANY stop", "stops services"),
    ("killall killall5 skill", "", "ends every process of a name, or all of them"),
    ("pkill", "-9 -u,-u,-U,.", "ends processes of a whole user"),
    ("crontab", "-", "replaces all scheduled commands"),
    ("iptables ip6tables", "--flush", "changes the firewall"),
    ("nft", "flush,delete", "changes the firewall"),
    ("ufw", "disable,reset,delete", "changes the firewall"),
    ("firewall-cmd", "--remove-service,--remove-port,--complete-reload", "changes the firewall"),
    ("userdel deluser groupdel delgroup", "", "deletes a user"),
    ("useradd adduser usermod passwd chpasswd chsh visudo vipw vigr sudoedit", "", "changes who may sign in, or with what rights"),
    ("cryptsetup", "luksFormat,erase,luksErase,luksKillSlot", "erases beyond recovery"),
    ("lvremove vgremove pvremove lvreduce pvcreate", "", "erases a volume"),
    ("zpool", "destroy,labelclear", "erases a volume"),
    ("zfs", "destroy,rollback", "erases a volume"),
    ("btrfs", "subvolume delete", "erases a volume"),
    ("mdadm", "--zero-superblock,--stop", "erases a volume"),
    ("hdparm nvme", "--security-erase,format,sanitize", "erases beyond recovery"),
    ("diskutil", "eraseDisk,eraseVolume,partitionDisk,apfs deleteContainer,reformat,zeroDisk", "erases beyond recovery"),
    ("format", "", "erases beyond recovery"),
    ("insmod rmmod", "", "changes the kernel"),
    ("modprobe", "-r", "changes the kernel"),
    ("kexec", "", "starts another kernel"),
    // Containers and clusters.
    ("docker podman", "system prune,volume rm,volume prune,image prune,container prune,network prune,builder prune,swarm leave,secret rm,stack rm,system reset", "deletes containers, images or volumes"),
    ("docker podman", "rm -f,rm --force,rmi -f,rmi --force,container rm -f,image rm -f,compose down -v,compose down --volumes,compose rm -f", "deletes containers, images or volumes by force"),
    ("docker-compose", "down -v,down --volumes,rm -f", "deletes containers, images or volumes by force"),
    ("kubectl oc", "delete,drain,replace --force", "deletes what runs in the cluster"),
    ("helm", "uninstall,delete,rollback", "deletes what runs in the cluster"),
    ("kind minikube k3d eksctl", "delete", "deletes a cluster"),
    ("terraform tofu terragrunt", "destroy,apply -destroy,apply -auto-approve,apply --auto-approve,state rm,workspace delete,force-unlock", "destroys or changes what runs without asking"),
    ("pulumi", "destroy,up -y,up --yes,stack rm,refresh -y", "destroys or changes what runs without asking"),
    ("cdk sls serverless sst", "destroy,remove", "destroys what runs"),
    ("vagrant", "destroy", "destroys a machine"),
    ("virsh", "destroy,undefine,vol-delete", "destroys a machine"),
    // Services.
    ("aws", "ANY delete*,ANY terminate*,ANY deregister*,s3 rm,s3 rb,s3 sync --delete,s3api delete*,ANY purge*,ANY remove*,ANY schedule-key-deletion,ANY reset*,ANY revoke*", "deletes at a service"),
    ("gcloud az doctl linode-cli hcloud oci ibmcloud", "~delete,~purge,~remove,~destroy", "deletes at a service"),
    ("gsutil", "rm,rb,rsync -d", "deletes at a service"),
    ("rclone", "delete,purge,sync,deletefile,rmdirs,cleanup,move", "deletes at a service"),
    ("s3cmd mc", "del,rb,rm,sync --delete-removed", "deletes at a service"),
    ("heroku", "apps:destroy,pg:reset,addons:destroy,destroy", "deletes at a service"),
    ("fly flyctl vercel netlify railway firebase wrangler supabase", "destroy,remove,rm,delete,apps destroy,sites:delete,db reset", "deletes at a service"),
    ("gh", "repo delete,repo archive,repo rename,release delete,issue delete,secret delete,variable delete,run delete,cache delete,gist delete,ssh-key delete,gpg-key delete,label delete,codespace delete,repo edit", "deletes at a service"),
    ("gh", "api -X DELETE,api --method DELETE,api --method=DELETE,api -XDELETE,api -X=DELETE", "deletes at a service"),
    ("glab", "repo delete,release delete,issue delete,mr delete,variable delete", "deletes at a service"),
    ("dropdb dropuser", "", "deletes a database"),
    ("mysqladmin", "drop,shutdown", "deletes a database"),
    ("pg_ctl pg_ctlcluster", "stop", "stops a database"),
    ("rails rake bin/rails", "db:drop,db:reset,db:purge,db:drop:all,db:migrate:reset", "deletes a database"),
    ("prisma", "migrate reset,db push --force-reset,db push --accept-data-loss", "deletes a database"),
    // Giving away.
    ("npm pnpm yarn bun lerna", "publish,unpublish,deprecate,owner,dist-tag,npm publish,access,token", "publishes, or unpublishes"),
    ("cargo", "publish,yank,owner", "publishes, or unpublishes"),
    ("twine", "upload", "publishes"),
    ("poetry uv flit hatch pdm maturin", "publish", "publishes"),
    ("gem", "push,yank,owner", "publishes, or unpublishes"),
    ("vsce ovsx", "publish,unpublish", "publishes, or unpublishes"),
    ("mvn gradle gradlew sbt", "~deploy,~publish,~release:perform", "publishes"),
    ("dotnet nuget", "nuget push,nuget delete,push", "publishes, or unpublishes"),
    ("docker podman", "push", "publishes"),
    ("helm", "push", "publishes"),
    // Version control beside git.
    ("hg", "strip,update -C,update --clean,purge,rollback,histedit,push -f,push --force", "throws away changes or history"),
    ("svn", "revert,cleanup --remove-unversioned", "throws away changes"),
    ("jj", "abandon,op restore,git push --deleted", "throws away changes"),
    // Packages whose removal breaks the machine.
    ("apt apt-get dnf yum pacman zypper apk", "purge,autoremove,remove,-R,-Rns,-Rs,erase,dist-upgrade,full-upgrade", "removes what the machine may need"),
    ("dpkg", "--purge,-P,-r,--remove", "removes what the machine may need"),
    ("nix-collect-garbage", "-d,--delete-old", "deletes earlier states of the machine"),
    ("tmutil", "delete,deletelocalsnapshots,disable", "deletes backups"),
    ("vssadmin wbadmin", "delete", "deletes backups"),
    ("restic borg", "forget,prune,delete", "deletes backups"),
    ("csrutil spctl", "disable,--master-disable", "takes down a wall of the machine"),
    ("setenforce", "0,Permissive", "takes down a wall of the machine"),
];

/// Whether a row of the table is about a program of this name.
pub(super) fn is_known(name: &str) -> bool {
    BY_NAME.contains_key(name)
}

/// The rows about each program: a command may have thousands of words, and each may be one.
static BY_NAME: LazyLock<HashMap<&str, Vec<&Row>>> = LazyLock::new(|| {
    let mut rows: HashMap<&str, Vec<&Row>> = HashMap::new();
    for row in DANGERS {
        for name in row.0.split_ascii_whitespace() {
            rows.entry(name).or_default().push(row);
        }
    }
    rows
});

/// Why a program is dangerous by a row of the table.
pub(super) fn of_table(name: &str, arguments: &[Word]) -> Option<String> {
    for (_, forms, reason) in BY_NAME.get(name).into_iter().flatten() {
        let asks = |word: &Word| {
            matches!(
                word.text.as_str(),
                "--help" | "--version" | "--dry-run" | "--dry-run=client" | "-h"
            )
        };
        if forms.is_empty() {
            if arguments
                .iter()
                .any(|word| matches!(word.text.as_str(), "--help" | "--version"))
            {
                continue;
            }
            return Some(format!("{reason} ({name})"));
        }
        if arguments.iter().any(asks) {
            continue;
        }
        if let Some(form) = forms.split(',').find(|form| has_form(arguments, form)) {
            return Some(format!(
                "{reason} ({name} {})",
                form.trim_start_matches("ANY ").trim_end_matches('*')
            ));
        }
    }
    None
}

/// Whether the words of a form stand among the arguments: its commands as operands from the start, its options and what
/// is marked with `~` anywhere, and any operand for `ANY`.
fn has_form(arguments: &[Word], form: &str) -> bool {
    // An operand behind an option may be its value, and is passed over where it does not fit.
    let mut after_option = false;
    let mut operands = arguments.iter().map(|word| word.text.as_str()).filter_map(|text| {
        let is_option = text.starts_with('-') && text != "-";
        let may_be_value = std::mem::replace(&mut after_option, is_option && !text.contains('='));
        (!is_option).then_some((text, may_be_value))
    });
    form.split(' ').all(|wanted| {
        if let Some(anywhere) = wanted.strip_prefix('~') {
            return arguments.iter().any(|word| word.text == anywhere);
        }
        if wanted.starts_with('-') && wanted != "-" {
            return has_option(arguments, wanted);
        }
        let fits = |text: &str| match wanted.strip_suffix('*') {
            Some(beginning) => text.starts_with(beginning),
            None => text == wanted || wanted == "ANY",
        };
        loop {
            match operands.next() {
                Some((text, _)) if fits(text) => return true,
                Some((_, true)) => {}
                _ => return false,
            }
        }
    })
}

/// Whether an option stands among the arguments: in full, with a value, or as a letter among others.
fn has_option(arguments: &[Word], wanted: &str) -> bool {
    let letter = wanted.strip_prefix('-').filter(|rest| rest.chars().count() == 1);
    arguments.iter().map(|word| word.text.as_str()).any(|text| {
        let bundle = text.starts_with('-') && !text.starts_with("--");
        text == wanted
            || text.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('='))
            || letter.is_some_and(|letter| bundle && text.contains(letter))
    })
}
