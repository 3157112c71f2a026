//! The directory that the fixture's LDAP connector asks: a real slapd.

use std::fs;

use crate::auth_login::place::Place;

/// The password of the connector.
pub(crate) const BIND_PASSWORD: &str = "not-a-secret";

/// The people: an operator, somebody who has left, and somebody whose group has a name that Kubernetes knows.
const ENTRIES: &str = "\
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: cn=dex,dc=example,dc=com
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: dex
userPassword: not-a-secret

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=com
objectClass: organizationalUnit
ou: groups

dn: uid=maria,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: maria
cn: Maria
sn: M
mail: maria@example.com
userPassword: marias-password

dn: uid=former,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: former
cn: Former
sn: F
mail: former@example.com
employeeType: former
userPassword: formers-password

dn: cn=operators,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: operators
member: uid=maria,ou=people,dc=example,dc=com

dn: uid=mallory,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: mallory
cn: Mallory
sn: M
mail: mallory@example.com
userPassword: mallorys-password

dn: cn=system:masters,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: system:masters
member: uid=mallory,ou=people,dc=example,dc=com

dn: cn=others,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: others
member: uid=former,ou=people,dc=example,dc=com
";

/// Starts the directory, at `ldaps://ldap.example.com`. Only the connector may search in it.
pub(crate) fn start(place: &Place) {
    place.certificate("ldap", &["DNS:ldap.example.com".to_owned()]);
    let path = place.path().to_str().unwrap();
    fs::create_dir(place.path().join("database")).unwrap();
    let configuration = format!(
        "include /etc/ldap/schema/core.schema\n\
         include /etc/ldap/schema/cosine.schema\n\
         include /etc/ldap/schema/inetorgperson.schema\n\
         modulepath /usr/lib/ldap\n\
         moduleload back_mdb\n\
         pidfile {path}/slapd.pid\n\
         TLSCACertificateFile {path}/ca.crt\n\
         TLSCertificateFile {path}/ldap.crt\n\
         TLSCertificateKeyFile {path}/ldap.key\n\
         database mdb\n\
         suffix dc=example,dc=com\n\
         directory {path}/database\n\
         access to attrs=userPassword by * auth\n\
         access to * by dn.exact=cn=dex,dc=example,dc=com read by * none\n"
    );
    fs::write(place.path().join("slapd.conf"), configuration).unwrap();
    fs::write(place.path().join("entries.ldif"), ENTRIES).unwrap();
    let configuration = format!("{path}/slapd.conf");

    // A copy, for AppArmor lets slapd itself read nothing but the machine's own directory.
    let slapd = format!("{path}/slapd");
    place.succeed(place.tool("sh").args(["-c", "cp \"$(command -v slapd)\" \"$0\"", &slapd]));
    let entries = format!("{path}/entries.ldif");
    place.succeed(place.tool(&slapd).args(["-T", "add", "-f", &configuration, "-l", &entries]));
    place.start(
        "slapd",
        place.tool(&slapd).args(["-f", &configuration, "-h", "ldaps:///", "-d", "none"]),
    );
    place.succeed(&mut place.login(&["wait", "ldap.example.com", "636"], &[].into()));
}
