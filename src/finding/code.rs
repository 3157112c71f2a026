//! The catalogue: what can be wrong with an input, each thing with a code that never changes.
//!
//! A code belongs to a kind of mistake, and not to a sentence: messages may be worded anew, codes are what people
//! search for, mute and write about. A code that is given up is never used for something else. What `sipgen explain`
//! says at length stands in `explained/`, one file a code.
//!
//! | codes | what they are about |
//! | --- | --- |
//! | `SIP00..` | the repo, its settings, sipgen's own files |
//! | `SIP01..` | documents: reading them, their names, the kustomizations around them |
//! | `SIP02..` | what a SIPCluster asks for |
//! | `SIP03..` | hosts, their network data and their BMCs |
//! | `SIP04..` | what services cannot share |
//! | `SIP05..` | placement |
//! | `SIP06..` | how agents and the repo's kustomizations apply the output |
//! | `SIP07..` | templates and what is rendered |
//! | `SIP08..` | what a Provisioning asks for, and what is installed |

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Severity;

/// What the catalogue says of a code.
struct Entry {
    id: &'static str,
    severity: Severity,
    title: &'static str,
    explanation: &'static str,
}

/// Declares the codes: number, name, severity, and what is wrong in a few words.
macro_rules! codes {
    ($($number:literal $name:ident $severity:ident $title:literal)*) => {
        /// A kind of mistake.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
        #[serde(try_from = "String")]
        #[schemars(with = "String", extend("pattern" = "^[Ss][Ii][Pp][0-9]{4}$"))]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// Every code, in the order of their numbers.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            fn entry(self) -> Entry {
                match self {
                    $(Code::$name => Entry {
                        id: concat!("SIP", $number),
                        severity: Severity::$severity,
                        title: $title,
                        explanation: include_str!(concat!("explained/SIP", $number, ".md")),
                    },)*
                }
            }
        }
    };
}

codes! {
    "0001" SettingsUnreadable Error "the file of the settings cannot be read"
    "0002" InvalidSetting Error "a setting is unknown, or has a value that it cannot have"
    "0003" NoClusterLeft Error "no request is left, so every host would be given back"
    "0004" NoCluster Warning "the repo asks for no cluster"
    "0005" ForeignFile Error "somebody else's file lies where sipgen has to write"
    "0006" ForeignFiles Warning "somebody else's files lie in the output directory"
    "0007" GeneratedUnreadable Error "a generated file, which is the memory of who has which host, cannot be read"
    "0008" MisplacedOutput Error "generated hosts lie outside the output directory"
    "0009" Stale Error "generated files are not what the input makes of them"
    "0010" EmptyInput Error "what is to be read has nothing in it"
    "0011" NotBuilt Error "a source cannot be built by kustomize"
    "0012" IdleGlob Warning "a glob of a source matches no file"
    "0013" ClusterLeftOut Error "a cluster of the repo is not among the inputs"
    "0014" HostLeftOut Error "a cluster's host is not among the inputs, and the repo still declares it"
    "0015" PathTwice Error "two generated files need one path"
    "0017" LossUnproven Error "a cluster or host is gone, and what may hold it was not read"

    "0101" Unreadable Error "a document cannot be read"
    "0102" UnknownVersion Error "a request has an apiVersion that there is not"
    "0103" UnknownField Warning "a request has a field that there is not"
    "0104" OlderGeneration Warning "a SIPCluster is of an older generation"
    "0105" NoName Error "an object has no name"
    "0106" InvalidName Error "a name or namespace is none that Kubernetes takes"
    "0107" TwoNamespaces Error "two kustomizations give an object two namespaces"
    "0108" Renamed Error "a kustomization renames what hosts refer to"
    "0109" TwoKustomizations Error "a directory has two kustomizations"
    "0110" KustomizationCycle Error "a kustomization has itself among its resources"
    "0111" VariableInText Error "a text has a variable in it that Flux would replace"
    "0112" TakenForTemplate Error "a cluster may be hidden in a file that passes for a template"
    "0113" InvisibleCharacter Error "a text has a character that cannot be seen"
    "0114" NearMiss Error "an object is nearly one that sipgen reads"
    "0115" UnbuildableDirectory Error "kustomize cannot be told of a directory because of its name"
    "0116" ListedUnread Error "a kustomization lists a file that sipgen does not read"
    "0117" BuildRefused Error "kustomize cannot build hosts or requests"
    "0118" NotEvaluated Error "only kustomize knows what a build makes of hosts or requests"

    "0120" WrongType Error "a field of a request has a value of another kind than it takes"
    "0121" SaidTwice Error "an older and a current field say the same"
    "0122" NotMigrated Error "a SIPCluster of an older generation cannot be rewritten"

    "0140" NoSuchSite Error "an entry of `sites` names no directory"
    "0141" OutsideOfSites Warning "a request lies outside of every site"
    "0142" SameApplications Error "the Applications of two sites have the same names"
    "0143" SharedMachine Warning "one machine is a host of two sites"

    "0201" DuplicateCluster Error "two requests are of one cluster"
    "0202" ClusterNameTooLong Error "a cluster's name is too long for a label"
    "0203" InvalidPriority Error "a priority is no whole number"
    "0204" NoNodes Error "a SIPCluster does not say which hosts it wants"
    "0205" UnknownRole Error "a node set has a role that there is not"
    "0206" NoSelector Warning "a node set has no labelSelector"
    "0207" InvalidSelector Error "a labelSelector does not mean what it should"
    "0208" NoCount Error "a node set does not say how many hosts it wants"
    "0209" InvalidCount Error "a count is no number of hosts"
    "0210" InvalidTopologyKey Error "a topologyKey is not the key of a label"
    "0211" NoImage Error "a service has no container image"
    "0212" InvalidNodeLabel Error "a service's nodeLabels are no labels"
    "0213" NoInterface Error "a service does not say which network it uses"
    "0214" InvalidClusterIp Error "a clusterIP is not an address that others reach"
    "0215" NoNodePort Error "a service has no NodePort"
    "0216" InvalidNodePort Error "a port is none of the NodePorts"
    "0217" InvalidReplicas Error "replicas is no number of pods"
    "0218" InvalidReference Error "a reference is not the name of an object"
    "0219" NoAuthorizedKeys Warning "nobody can log in to a jump host"
    "0220" InvalidAuthorizedKey Error "an authorized key is not an OpenSSH public key"
    "0221" SeveralHostKeys Error "a jump host has its host keys from several places"
    "0231" NoIssuer Error "an auth service has no valid URL"
    "0232" InvalidCertificate Error "an auth service does not say, or not clearly, who issues its certificate"
    "0233" InvalidDuration Error "a text is no length of time"
    "0234" InvalidClient Error "a client of an auth service is wrong"
    "0235" SecretInGit Error "a secret stands in a SIPCluster"
    "0236" UnsetVariable Error "nothing sets an environment variable that a setting names"
    "0237" InvalidConnector Error "a connector of an auth service is wrong"
    "0238" UnsafeConnector Warning "a connector lets in too many, or shows passwords"
    "0239" DoubtfulConnector Warning "a connector has a setting that can hardly work"
    "0240" InvalidFlavor Error "a flavor is not a label with its value"
    "0241" UnknownSpread Error "hosts are to be spread over something that there is not"
    "0242" UnknownTopology Error "it is not known which label says where hosts stand"
    "0243" UnknownService Error "an older service is of a kind that there is not"
    "0244" NodeLabelWithoutValue Error "an older service names a label of nodes without its value"
    "0245" SeveralNodePorts Error "an older service has several NodePorts"
    "0246" CredentialInUrl Error "a URL of a request has a user, a password or a query in it"
    "0247" TokenInText Error "a text of a request is an access token"

    "0250" UnmatchedSelector Warning "a labelSelector matches no host"
    "0251" UnborneTopologyKey Warning "no host bears the label that is to keep hosts apart"
    "0252" UnknownInterface Warning "no host has the network that a service uses"
    "0253" SpelledOtherwise Warning "hosts spell a network in another way than services"
    "0254" NothingBehind Warning "a load balancer has no node set behind it"
    "0255" ClusterIpOfHost Warning "a clusterIP is the address of a host"

    "0301" DuplicateHost Error "a host is there twice"
    "0302" ObservedButRendered Error "a host is said to be observed, and a kustomization renders it"
    "0303" LiveCopyRendered Error "a kustomization renders the copy of a live host"
    "0304" RenderedByTwo Error "two kustomizations render one host"
    "0305" NotRendered Error "a host is said to be declared, and no kustomization renders it"
    "0306" OutputInsideRoot Error "the output directory lies inside the directory that it is based on"
    "0307" LargeBuild Warning "a build has more hosts than kustomize takes in good time"
    "0308" SharedBmc Warning "hosts share a BMC address"
    "0309" DuplicateNetworkData Error "a Secret with network data is there twice, and the two differ"
    "0310" InvalidAddress Error "network data has an address that is none"
    "0311" Unaddressed Error "a service cannot reach a host"
    "0312" SharedAddress Warning "hosts share an address"
    "0313" InvalidCredentialsName Warning "a host's credentialsName is no name of a Secret"
    "0314" InvalidBmcAddress Warning "a BMC address cannot be understood"
    "0315" CredentialsElsewhere Error "a BMC's credentials are in another namespace than the jump host"
    "0316" AmbiguousHostName Error "a jump host has no name of its own for a host"
    "0317" AmbiguousNetwork Warning "a host has two networks of one id, with two addresses"
    "0318" UserInBmcAddress Warning "a BMC address has a user or a password in it"

    "0320" UnquotedLabel Warning "a label of a host is no text to other programs"
    "0321" UnquotedMac Warning "a MAC address is a number to other programs"
    "0322" DuplicateHardware Error "the hardware of a host is there twice, and the two differ"
    "0323" HardwareWithoutHost Warning "there is hardware of a host that there is not"
    "0324" HardwareUnreadable Warning "what a host says of its hardware or status cannot be read"

    "0330" UnknownStanding Error "it is not known who makes a rendered host"
    "0331" NetworkDataDiffers Error "a host has network data in two places, and the two differ"
    "0332" EncryptedNetworkData Warning "network data that clusters need is encrypted"
    "0333" NotDecrypted Error "network data that hosts need cannot be decrypted"
    "0334" UnreadableNetworkData Error "a host's network data cannot be read"

    "0340" UnnamedNetworkData Warning "no host names a Secret with network data"
    "0341" MissingNetworkData Warning "hosts name network data that is not in the repo"
    "0342" PlaintextSecret Error "a Secret in the inputs has values in plain text"
    "0343" PlaintextSecretAllowed Warning "a Secret has values in plain text, which the settings allow or no build uses"
    "0344" ShellHost Warning "a host has no spec"
    "0345" WrongCase Error "a field of a request is written in the wrong case"
    "0348" UnusedDuplicate Warning "a host or request is there several times, and no build reaches this one"
    "0349" UnusedObject Warning "an object that no build reaches is malformed"

    "0401" NodePortTaken Error "two services ask for one NodePort"
    "0402" NodePortMoves Warning "a NodePort would go from one service to another"
    "0403" SharedDexStorage Warning "instances of Dex would share their storage"
    "0410" NodePortOfRepo Warning "a Service of the repo has the NodePort of a service"

    "0501" Shortage Error "a node set cannot be filled"
    "0502" UnknownDomain Warning "a host is taken whose topology domain nobody knows"
    "0503" Flawed Warning "a cluster keeps a host that it would not be given today"
    "0504" AssignedTwice Error "a host is assigned twice"
    "0505" InUseGivenBack Warning "a host in use is given back"
    "0506" HostGone Warning "a cluster's host is no longer in the inventory"
    "0507" FrozenHostGone Warning "a host is gone, and the cluster that patches it is left as it is"
    "0508" LabelsDisagree Error "a host is with one cluster, and its labels say another"
    "0509" SeveralClaims Error "a host bears the labels of several clusters"
    "0510" LabelsStay Warning "labels stay on a host that was given back"
    "0511" Surplus Warning "a host bears the labels of a cluster that has enough"
    "0512" NoLongerDeclared Error "a declared host is rendered no more"
    "0513" AppliedInFull Error "an agent applies an observed host in full"
    "0514" StillObserved Error "a declared host is still with a cluster as an observed one"
    "0515" Failing Warning "a cluster keeps a host that has failed or is being deleted"

    "0520" UnclearOlderLabels Warning "it is not known which cluster the older labels of a host mean"
    "0521" AdoptedByOlderLabels Warning "a cluster adopts a host by labels of an older generation"

    "0530" BeyondReach Warning "a node set wants more hosts than there can be for it"
    "0531" Contended Warning "node sets together want more of the same hosts than there are"

    "0540" NamedHostRefused Error "the host that a machine names by its MAC address cannot be had"

    "0601" ComponentWithoutForm Error "an overlay of hosts is listed as a component"
    "0602" OverlayInItsBase Error "an overlay of hosts is listed in its own base"
    "0603" RenderedTwice Error "hosts are rendered twice"
    "0604" NothingToList Warning "a kustomization lists what sipgen does not write"
    "0605" IncludedTwice Error "a component is included twice"
    "0606" ComponentMisplaced Error "a component is included where it cannot work"
    "0607" NotIncluded Warning "nothing includes a component yet"
    "0608" AgentChanged Error "the agent changes from one run to the next"
    "0609" DeliveredElsewhere Warning "an object of the repo applies what sipgen has an object for"
    "0610" OutputPatched Error "an object of the repo changes the generated hosts"
    "0611" SetAside Warning "an object of the repo is taken for somebody else's"
    "0612" ComponentApplied Error "an agent applies a component by itself"
    "0613" OutputAppliedWhole Error "an agent applies the whole output at once"
    "0614" OutputMayBeAppliedWhole Warning "an agent seems to apply the whole output at once"
    "0615" UnlistedHostsApplied Error "an agent applies hosts that no kustomization lists"
    "0616" HostsRenamed Error "an agent renames hosts"
    "0617" TwoAppliers Error "two objects apply the same hosts"
    "0618" RenderedUnlabelled Warning "an agent applies declared hosts without their labels"
    "0619" RequestsUndefined Warning "requests are applied together with hosts, and nothing defines their kind"
    "0620" ReadAsFiles Error "a generated kustomization is read as plain files"
    "0621" OutputNotInSource Warning "the source of the agent leaves out what sipgen writes"
    "0622" AgentCannotApply Warning "the agent is not let apply what sipgen writes"
    "0623" IncludeOverOutput Warning "a source of Flux copies another repo to where sipgen writes"
    "0624" AppliedUnread Warning "an agent applies a directory that sipgen cannot read"

    "0701" TemplateUnused Warning "a template replaces none of sipgen's"
    "0702" TemplateFails Error "a template cannot be rendered"
    "0703" InvalidManifest Error "what is rendered is no valid manifest"
    "0704" VariableRendered Error "what is rendered has a variable of Flux in it"
    "0705" NothingRendered Error "a kustomization lists what no template renders"
    "0706" TooLarge Error "a rendered file is larger than the API server takes"
    "0707" PatchMisses Error "a patch that is left as it is would not find its host any more"
    "0709" CredentialRendered Error "what is rendered has a credential in it"
    "0710" NoTemplates Warning "the directory of templates has none"

    "0801" InvalidClusterLabel Error "it is not clear which cluster a Provisioning or a Software is for"
    "0802" NoMasters Error "a Provisioning has no machine for the control plane"
    "0803" InvalidMachine Error "an entry of a list is not one machine with its name"
    "0804" InvalidNodeName Error "a machine's name is not fit for a label"
    "0805" MachineTwice Error "two machines of a Provisioning have one name"
    "0806" InvalidMac Error "a machine's MAC address is none"
    "0807" UnknownMac Error "no host has the MAC address of a machine"
    "0808" AmbiguousMac Error "several hosts have the MAC address of a machine"
    "0809" SharedMac Error "two machines of a Provisioning are one host"
    "0810" NothingAsked Error "nothing says which machine is meant"
    "0811" InvalidRequirement Error "what is asked of a machine is no amount"
    "0812" Unmet Warning "the host with a machine's MAC address has less than is asked of it"
    "0813" NoMachineAddress Error "a machine has no address"
    "0814" InvalidPodSubnet Error "a PodSubnet is no network"
    "0815" PodSubnetWithHost Warning "a PodSubnet is an address in a network, and not the network"
    "0816" InvalidPlugin Error "a plugin is not one word"
    "0817" DoubtfulPlugin Warning "a plugin is unknown, or there twice"
    "0818" FormerField Warning "a Provisioning has fields that do nothing any more"
    "0819" UnknownClusterType Warning "a cluster-type is none that there is"
    "0820" SoftwareWithoutCluster Warning "no Provisioning makes the cluster of a Software"
    "0821" InvalidPackage Error "an entry is not one package that apt takes"
    "0822" TwoVersions Error "a package is asked for in two versions"
    "0823" PackageTwice Warning "a package is there twice"
    "0824" BracesInRequest Error "a Provisioning or a Software passes for a template"
    "0826" UnquotedName Warning "a cluster's or a machine's name is no text to other programs"
    "0827" InvalidDeviceLabel Warning "a label that says whether a host has a device says neither"
    "0828" PodSubnetOverHosts Warning "a PodSubnet has the address of a machine in it"
    "0829" PodSubnetOfOtherFamily Warning "a PodSubnet is of another IP family than the machines"

    "0840" NodeNameTaken Error "a machine has a name that ansible has for something else"

    "0850" EvenEtcd Warning "an etcd would have an even number of members"
    "0851" NetworkUnknown Warning "the public installer does not know the network that it is told"
    "0852" UnfitNodeName Warning "a machine has a name that no node of Kubernetes has"
    "0853" MixedFamilies Warning "machines of one cluster have addresses of different families"
}

/// What the hundreds of codes are about.
const AREAS: [(&str, &str); 9] = [
    ("00", "the repo, its settings, sipgen's own files"),
    (
        "01",
        "documents, their names, the kustomizations around them",
    ),
    ("02", "what a SIPCluster asks for"),
    ("03", "hosts, their network data and their BMCs"),
    ("04", "what services cannot share"),
    ("05", "placement"),
    (
        "06",
        "how agents and the repo's kustomizations apply the output",
    ),
    ("07", "templates and what is rendered"),
    ("08", "what a Provisioning asks for, and what is installed"),
];

impl Code {
    /// The code as people write it: `SIP0101`.
    pub fn id(self) -> &'static str {
        self.entry().id
    }

    /// How much a finding with this code matters.
    pub fn severity(self) -> Severity {
        self.entry().severity
    }

    /// What is wrong, in a few words.
    pub fn title(self) -> &'static str {
        self.entry().title
    }

    /// What the code is about, as all codes of its hundred.
    pub fn area(self) -> &'static str {
        let known = AREAS
            .iter()
            .find(|(hundred, _)| self.id()["SIP".len()..].starts_with(hundred));
        known.map_or("others", |(_, area)| area)
    }

    /// What is wrong, why it matters and how to mend it: Markdown.
    pub fn explanation(self) -> &'static str {
        self.entry().explanation
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// How many characters of an unknown code are shown.
const LONGEST_SHOWN: usize = 20;

/// A text that is no code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no code `{text}`; near it are {}", near.map(Code::id).join(", "))]
pub struct UnknownCode {
    text: String,
    near: [Code; 3],
}

impl FromStr for Code {
    type Err = UnknownCode;

    /// Reads `SIP0101`, in any case.
    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let wanted = text.trim().to_ascii_uppercase();
        if let Some(known) = Code::ALL.iter().find(|code| code.id() == wanted) {
            return Ok(*known);
        }
        // The nearest by how they are written, and of those the nearest by number.
        let number = |text: &str| {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            digits.parse().unwrap_or(i64::MAX / 2)
        };
        let mut near = Code::ALL.to_vec();
        near.sort_by_key(|code| {
            (
                strsim::damerau_levenshtein(code.id(), &wanted),
                (number(code.id()) - number(&wanted)).abs(),
            )
        });
        let near = [near[0], near[1], near[2]];
        // A part of a longer text might be one of a credential, which nothing knows as such.
        let text = if text.chars().nth(LONGEST_SHOWN).is_some() {
            "…"
        } else {
            text
        };
        Err(UnknownCode {
            text: text.to_owned(),
            near,
        })
    }
}

impl TryFrom<String> for Code {
    type Error = UnknownCode;

    fn try_from(text: String) -> Result<Self, UnknownCode> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(Code::ALL.is_sorted_by(|a, b| a.id() < b.id()));
    }

    #[test]
    fn a_code_is_known_in_any_case() {
        assert_eq!("sip0101".parse(), Ok(Code::Unreadable));
    }

    #[test]
    fn an_unknown_code_has_near_ones() {
        let error = "SIP0210x".parse::<Code>().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("there is no code `SIP0210x`; near it are SIP0210, "),
            "{error}"
        );
    }
}
