//! The catalogue of findings. Codes are permanent.
//!
//! A code identifies a kind of finding, not a message: messages may be reworded, but people search
//! for codes, mute them and write about them. A retired code is never reused. The long text of each
//! code is its page in `docs/reference/findings`.
//!
//! | codes | area |
//! | --- | --- |
//! | `SIP00..` | the repo, its settings, generated files |
//! | `SIP01..` | documents: syntax, names, kustomizations |
//! | `SIP02..` | SIPClusters |
//! | `SIP03..` | hosts, their network data and their BMCs |
//! | `SIP04..` | conflicts between services |
//! | `SIP05..` | placement |
//! | `SIP06..` | delivery by agents and the repo's kustomizations |
//! | `SIP07..` | templates and rendered files |
//! | `SIP08..` | Provisionings and installers |
//! | `SIP09..` | Clusters of Cluster API |

use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Severity;

/// An entry of the catalogue.
struct CatalogueEntry {
    id: &'static str,
    severity: Severity,
    scope: ErrorScope,
    value: Value,
    title: &'static str,
    explanation: &'static str,
}

/// The part of a run that an error stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorScope {
    /// The whole run. The finding names no cluster.
    Run,
    /// The clusters that the finding names, at least one: `--keep-going` generates the others.
    Cluster,
    /// The clusters that the finding names, or the whole run if it names none.
    Either,
}

/// Treatment of the value that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    /// The whole line is quoted.
    Shown,
    /// Only the line's key is quoted, because the value may be a secret.
    Hidden,
}

/// Declares the codes: number, name, severity, scope, quoting of the value, and title.
macro_rules! codes {
    ($($number:literal $name:ident $severity:ident $scope:ident $value:ident $title:literal)*) => {
        /// The code of a finding, such as SIP0101.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
        #[derive(derive_more::Display)]
        #[display("{}", self.id())]
        #[serde(try_from = "String")]
        #[schemars(with = "String", extend("pattern" = "^[Ss][Ii][Pp][0-9]{4}$"))]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// All codes, by number.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            fn entry(self) -> CatalogueEntry {
                match self {
                    $(Code::$name => CatalogueEntry {
                        id: concat!("SIP", $number),
                        severity: Severity::$severity,
                        scope: ErrorScope::$scope,
                        value: Value::$value,
                        title: $title,
                        explanation: include_str!(concat!(
                            "../../../docs/reference/findings/SIP",
                            $number,
                            ".md"
                        )),
                    },)*
                }
            }
        }
    };
}

codes! {
    "0001" SettingsUnreadable Error Run Shown "the settings file cannot be read"
    "0002" InvalidSetting Error Run Shown "a setting is unknown or has an invalid value"
    "0003" NoClusterLeft Error Run Shown "no request is left, so every host would be released"
    "0004" NoCluster Warning Run Shown "the repo requests no cluster"
    "0005" ForeignFile Error Run Shown "a file that sipgen did not write is at the path of a generated file"
    "0006" ForeignFiles Warning Run Shown "the output directory has files that sipgen did not write"
    "0007" GeneratedUnreadable Error Run Shown "a generated file with assignments cannot be read"
    "0008" MisplacedOutput Error Run Shown "generated hosts are outside the output directory"
    "0009" Stale Error Either Shown "generated files are stale"
    "0010" EmptyInput Error Run Shown "an input is empty"
    "0011" NotBuilt Error Run Shown "kustomize cannot build a source"
    "0012" IdleGlob Warning Run Shown "a glob of a source matches no file"
    "0013" ClusterLeftOut Error Run Shown "a cluster of the repo is missing from the inputs"
    "0014" HostLeftOut Error Cluster Shown "an assigned host is missing from the inputs, but the repo has it"
    "0015" PathTwice Error Run Shown "two generated files have the same path"
    "0017" LossUnproven Error Either Shown "a cluster or host is missing, and a file that may hold it was not read"
    "0018" TooOld Error Run Shown "this sipgen is older than the settings require"
    "0019" NewerOutput Error Run Shown "a generated file was written by a newer sipgen"
    "0020" IgnoredOutput Warning Run Shown "git ignores a generated file"

    "0101" Unreadable Error Either Shown "a document cannot be read"
    "0103" UnknownField Warning Cluster Hidden "a request has an unknown field"
    "0104" OlderGeneration Warning Cluster Shown "a SIPCluster is of an older generation"
    "0106" InvalidName Error Run Shown "a name or namespace is missing or invalid"
    "0107" TwoNamespaces Error Run Shown "two kustomizations give an object different namespaces"
    "0108" Renamed Error Run Shown "a kustomization renames objects that hosts refer to"
    "0111" VariableInText Error Cluster Hidden "a text has a variable that Flux would replace"
    "0112" TakenForTemplate Error Run Shown "a file that looks like a template may hold a request"
    "0113" InvisibleCharacter Error Cluster Hidden "a text has an invisible character"
    "0114" NearMiss Error Run Shown "the kind or apiVersion of an object is unknown or misspelled"
    "0116" ListedUnread Error Run Shown "a kustomization lists a file that sipgen does not read"
    "0117" BuildRefused Error Run Shown "kustomize cannot build hosts or requests"
    "0118" NotEvaluated Error Run Shown "sipgen cannot evaluate the build of hosts or requests"

    "0120" WrongType Error Cluster Hidden "a field of a request has a value of the wrong type or form"
    "0121" SaidTwice Error Cluster Shown "an older and a current field conflict"

    "0140" NoSuchSite Error Run Shown "an entry of `sites` matches no directory"
    "0141" OutsideOfSites Warning Run Shown "a request is outside of every site"
    "0142" SameApplications Error Run Shown "the Applications of two sites have the same names"
    "0143" SharedMachine Warning Run Shown "two sites share one machine"

    "0201" DuplicateCluster Error Either Shown "two requests of a cluster, or two objects of Cluster API, have one name"
    "0206" NoSelector Warning Cluster Shown "a node set has no labelSelector"
    "0208" MissingField Error Cluster Shown "a required field of a SIPCluster is missing"
    "0209" InvalidField Error Cluster Shown "a field of a SIPCluster has an invalid value"
    "0219" NoLogin Warning Cluster Shown "nobody can log in to a jump host or by Dex"
    "0235" SecretInGit Error Cluster Hidden "a request contains a secret"
    "0237" InvalidAuth Error Cluster Shown "a setting of an auth service is invalid"
    "0238" DoubtfulConnector Warning Cluster Shown "a connector is insecure or unlikely to work"
    "0240" Unconvertible Error Cluster Shown "a field of an older SIPCluster cannot be converted"

    "0250" UnmatchedSelector Warning Cluster Shown "no host has the labels of a node set"
    "0252" UnknownInterface Warning Cluster Shown "no host has the network of a service"
    "0254" NothingBehind Warning Cluster Shown "a load balancer has no node set"
    "0256" UnsuitableImage Warning Cluster Shown "a container image has no version, or is too old"
    "0259" OperatorsFinalizer Warning Cluster Shown "a SIPCluster has the finalizer of the SIP operator"
    "0260" EphemeralHostKeys Warning Cluster Shown "a jump host has new host keys after each restart"
    "0261" UnknownTopologyKey Error Cluster Shown "no host has the topologyKey of a node set"

    "0301" DuplicateHost Error Run Shown "a host or its hardware details are declared or observed twice"
    "0302" ObservedButRendered Error Run Shown "a kustomization renders an observed host"
    "0304" RenderedByTwo Error Run Shown "two kustomizations render the same host"
    "0305" NotRendered Error Run Shown "no kustomization renders a host that one should render"
    "0306" OutputInsideRoot Error Run Shown "the output directory is inside the kustomization that it is based on"
    "0307" LargeBuild Warning Run Shown "a build has too many hosts for kustomize to finish in time"
    "0308" SameMachine Warning Run Shown "hosts share a machine"
    "0311" Unaddressed Error Cluster Shown "a host has no address for a service"
    "0312" SharedAddress Warning Cluster Shown "the address of a service or of a Cluster's API is that of a host"
    "0313" InvalidCredentialsName Warning Cluster Hidden "a host's credentialsName is not the name of a Secret"
    "0314" InvalidBmcAddress Warning Run Hidden "a BMC address is invalid"
    "0315" CredentialsElsewhere Error Cluster Shown "a BMC's credentials are in another namespace than the jump host"
    "0316" AmbiguousHostName Error Cluster Shown "hosts of a jump host share a name"
    "0317" AmbiguousNetwork Warning Run Shown "a host has two networks with the same id and different addresses"
    "0318" UserInBmcAddress Warning Run Shown "a BMC address contains a credential"
    "0319" UnverifiedBmc Warning Run Shown "a jump host logs in to BMCs that no certificate identifies"

    "0320" UnquotedText Warning Run Shown "other programs read a label or MAC address of a host as another type than text"
    "0323" UnusedHostData Warning Run Shown "hardware details or network data belong to no known host, or cannot be read"

    "0325" DuplicateHostAddress Warning Run Shown "two hosts have one address"
    "0330" UnknownStanding Error Run Shown "the owner of a rendered host is unknown"
    "0331" NetworkDataDiffers Error Run Hidden "a host or Secret has different network data in two places"
    "0332" EncryptedNetworkData Warning Cluster Hidden "network data that clusters need is encrypted"
    "0334" InvalidNetworkData Error Run Hidden "a host's network data is invalid"

    "0335" InvalidHostAddress Warning Run Shown "an address of a host is invalid"
    "0336" InvalidAssignmentLabel Error Cluster Shown "assignment labels are invalid or ambiguous"
    "0338" LabelsReplaced Error Cluster Shown "the labels of hosts would be replaced at once"
    "0339" FormerLabels Warning Run Shown "hosts have former labels beside their new ones"
    "0341" MissingNetworkData Warning Run Shown "hosts reference network data that is missing or not applied"
    "0342" PlaintextSecret Error Run Shown "a Secret in the inputs has values in plain text"
    "0343" PlaintextSecretAllowed Warning Run Shown "a Secret has values in plain text, which the settings allow or no build uses"
    "0344" ShellHost Warning Run Shown "a host has no spec"
    "0345" MisspelledField Error Cluster Hidden "a field of a request is misspelled"
    "0346" InvalidMark Error Run Shown "an annotation for a reservation or maintenance is invalid"
    "0347" IdleMark Warning Run Shown "a reservation or maintenance mark matches no host, or has expired"
    "0349" UnusedObject Warning Run Shown "an object that no build reaches is invalid or a duplicate"
    "0353" RefusedHost Warning Run Shown "the API server or Metal3 refuses a host for its name or a field"
    "0354" PreAllocationConflict Error Cluster Shown "a pool cannot keep the address of a host"
    "0357" HostNotApplied Warning Run Shown "a host cannot be assigned, because nothing shows that an agent applies it"

    "0401" NodePortTaken Error Cluster Shown "two services ask for the same NodePort"
    "0402" NodePortMoves Warning Cluster Shown "a NodePort would move from one service to another"
    "0403" SharedDexStorage Error Cluster Shown "instances of Dex would share their storage"
    "0410" NodePortOfRepo Warning Cluster Shown "a Service of the repo uses the NodePort of a service"

    "0501" Shortage Error Cluster Shown "a node set cannot be filled"
    "0502" UnknownDomain Warning Cluster Shown "a host without a known topology domain is assigned"
    "0503" Flawed Warning Cluster Shown "an assigned host no longer meets the cluster's requirements"
    "0504" AssignedTwice Error Cluster Shown "a host is assigned twice"
    "0505" InUseGivenBack Warning Cluster Shown "a host in use is released"
    "0506" HostGone Warning Cluster Shown "an assigned host is missing from the inventory"
    "0508" LabelsDisagree Error Cluster Shown "the labels of a host contradict its assignment or each other"
    "0510" LabelsStay Warning Run Shown "a released host still has assignment labels"
    "0511" Surplus Warning Cluster Shown "a host has the labels of a cluster that needs no more hosts"
    "0512" NoLongerDeclared Error Either Shown "a host of a cluster is no longer known to be applied or live"
    "0513" AppliedInFull Error Cluster Shown "an agent applies the whole object of an observed host"
    "0514" StillObserved Error Run Shown "a declared host is still assigned as an observed one"
    "0515" Failing Warning Cluster Shown "a cluster retains a host that has failed, is being deleted or has no operating system"

    "0517" QuotaExceeded Warning Run Shown "a namespace has more hosts than its quota"
    "0518" InMaintenance Warning Cluster Shown "a cluster has hosts that are marked for maintenance"
    "0520" UnclearLabels Warning Either Shown "the cluster of a host's labels is unknown"
    "0521" AdoptedByOlderLabels Warning Cluster Shown "a cluster adopts a host by labels of an older generation"

    "0522" HostsElsewhere Warning Run Shown "clusters have hosts of another namespace, which Cluster API cannot claim"
    "0540" NamedHostRefused Error Cluster Shown "the host with a machine's MAC address is not available"

    "0606" ComponentMisplaced Error Run Shown "a component or overlay is listed where it cannot work"
    "0607" NotIncluded Warning Run Shown "no kustomization includes a component"
    "0608" AgentChanged Error Run Shown "the agent changes from one run to the next"
    "0609" DeliveredElsewhere Warning Run Shown "an object of the repo applies a directory that sipgen's own objects apply"
    "0610" OutputPatched Error Run Shown "a build of the repo changes or renames generated hosts, or moves services"
    "0611" SetAside Warning Run Shown "an object of the repo applies nothing of it to the base cluster"
    "0613" OutputMisapplied Error Run Shown "an agent applies a part of the output that it must not apply by itself"
    "0614" OutputMayBeAppliedWhole Warning Run Shown "an agent may apply the whole output directory at once"
    "0615" UnlistedHostsApplied Error Run Shown "an agent applies hosts that no kustomization lists"
    "0617" TwoAppliers Error Run Shown "two objects apply the same hosts"
    "0618" RenderedUnlabelled Warning Run Shown "an agent applies declared hosts without their labels"
    "0619" RequestsUndefined Warning Run Shown "requests are applied before their CustomResourceDefinition"
    "0621" OutputNotInSource Warning Run Shown "the agent's source excludes or replaces generated files"
    "0622" AgentCannotApply Warning Run Shown "the agent cannot decrypt or build hosts"
    "0624" DirectoryUnread Warning Run Shown "a directory that may have hosts cannot be read"
    "0625" LabelsNotApplied Error Either Shown "an agent does not label hosts, or replaces them"

    "0701" TemplateUnused Warning Run Shown "templates replace no built-in template"
    "0702" TemplateFails Error Either Shown "a template cannot be rendered"
    "0703" InvalidManifest Error Either Shown "a rendered manifest is invalid, missing or too large"
    "0704" VariableRendered Error Either Shown "a rendered file has a variable of Flux"
    "0709" CredentialRendered Error Either Shown "a rendered file contains a credential"
    "0711" OperatorsTemplates Warning Run Shown "templates of the SIP operator for HAProxy are not used"
    "0714" PatchesDiffer Error Run Shown "patches of hosts would not build as planned"

    "0801" InvalidClusterLabel Error Run Shown "a Provisioning or Software has no unambiguous cluster"
    "0803" InvalidMachine Error Cluster Shown "a machine of a Provisioning is invalid"
    "0807" UnknownMac Error Cluster Shown "not exactly one host has the MAC address of a machine"
    "0812" Unmet Warning Cluster Shown "the host with a machine's MAC address does not meet its requirements"
    "0817" DoubtfulInstallerField Warning Cluster Shown "a setting or package of the installer has no effect or does not fit"
    "0821" InvalidInstallerField Error Cluster Shown "a setting or package of the installer is invalid"
    "0826" UnquotedName Warning Cluster Shown "other programs read the name of a cluster or machine as another type than text"
    "0827" InvalidDeviceLabel Warning Run Shown "a device label is neither `true` nor `false`"


    "0850" EvenEtcd Warning Cluster Shown "etcd would have an even number of members"
    "0852" UnfitNodeName Warning Cluster Shown "a machine's name is not a valid node name"
    "0853" MixedFamilies Warning Cluster Shown "machines of one cluster have addresses of different IP families"

    "0901" PartMissing Error Cluster Shown "an object that a Cluster refers to is not in the inputs"
    "0903" InvalidRequestAnnotation Error Cluster Shown "a `hostSelector` or annotation on an object of Cluster API is invalid"
    "0904" NoMachineTemplate Warning Cluster Shown "a Cluster of Cluster API needs no hosts"
    "0905" Unpinned Warning Cluster Shown "a Metal3MachineTemplate does not select the assigned hosts"
    "0906" SharedMachineTemplate Error Cluster Shown "node sets share a Metal3MachineTemplate"
    "0907" Disagreement Warning Cluster Shown "objects of Cluster API need other hosts than the SIPCluster requests"
    "0908" HeldByMachine Warning Cluster Shown "a surplus host is still in use by a Machine"
    "0909" RequestPartUnowned Warning Run Shown "an object belongs to no request, or is not applied"
    "0910" ForeignClaimant Warning Run Shown "an object that is no request claims hosts"
    "0911" UsedByAnother Warning Cluster Shown "a Machine uses a host that is not assigned to its node set"
    "0912" RemediationWithoutSpare Warning Cluster Shown "a MachineHealthCheck replaces Machines of a node set without spare hosts"
}

/// Areas by the first two digits of a code.
const AREAS: [(&str, &str); 10] = [
    ("00", "the repo, its settings, generated files"),
    ("01", "documents: syntax, names, kustomizations"),
    ("02", "SIPClusters"),
    ("03", "hosts, their network data and their BMCs"),
    ("04", "conflicts between services"),
    ("05", "placement"),
    ("06", "delivery by agents and the repo's kustomizations"),
    ("07", "templates and rendered files"),
    ("08", "Provisionings and installers"),
    ("09", "Clusters of Cluster API"),
];

impl Code {
    /// Returns the code, such as `SIP0101`.
    pub fn id(self) -> &'static str {
        self.entry().id
    }

    /// Returns the severity of a finding with this code.
    pub fn severity(self) -> Severity {
        self.entry().severity
    }

    /// Returns the part of a run that an error with this code stops.
    pub fn scope(self) -> ErrorScope {
        self.entry().scope
    }

    /// Returns whether the value that a finding concerns may be a secret.
    pub(crate) fn hides_value(self) -> bool {
        self.entry().value == Value::Hidden
    }

    /// Returns the title of the finding.
    pub fn title(self) -> &'static str {
        self.entry().title
    }

    /// Returns the area of the code.
    pub fn area(self) -> &'static str {
        let known = AREAS.iter().find(|(hundred, _)| self.id()["SIP".len()..].starts_with(hundred));
        known.map_or("others", |(_, area)| area)
    }

    /// Returns the problem, the reason why it matters and the fix, in Markdown.
    pub fn explanation(self) -> &'static str {
        let page = self.entry().explanation;
        // The heading repeats code and title. A new page has none until `just docs` writes it.
        match page.split_once("\n\n") {
            Some((heading, text)) if heading.starts_with("# ") => text,
            _ => page,
        }
    }
}

/// Maximum length of an unknown code in a message, in characters.
const LONGEST_SHOWN: usize = 20;

/// Error for a text that is not a code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown code `{text}`; similar codes are {}", near.map(Code::id).join(", "))]
pub struct UnknownCode {
    text: String,
    near: [Code; 3],
}

impl FromStr for Code {
    type Err = UnknownCode;

    /// Parses `SIP0101`, in any case.
    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let wanted = text.trim().to_ascii_uppercase();
        if let Some(known) = Code::ALL.iter().find(|code| code.id() == wanted) {
            return Ok(*known);
        }
        // Suggestions are sorted by spelling, then by number.
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
        // A part of a longer text might be a credential that is not recognized as one.
        let text = if text.chars().nth(LONGEST_SHOWN).is_some() { "…" } else { text };
        Err(UnknownCode { text: text.to_owned(), near })
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
            error.to_string().starts_with("unknown code `SIP0210x`; similar codes are SIP0209, "),
            "{error}"
        );
    }
}
