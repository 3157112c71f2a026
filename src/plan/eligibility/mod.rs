//! Rules that decide whether a node set may take a host.
//!
//! [`rules`] is the only list. The first rule that objects gives the reason, a [`Refusal`], so the
//! order decides which reason is reported:
//!
//! 1. **Requirements** of the node set: the named host, the labelSelector, the hardware. They come first because a host that was not requested needs no other explanation.
//! 2. **Ownership**: another cluster has, claims or releases the host, or this plan assigns it. It
//!    comes before the host's condition, because the owner is usually why the host is in use.
//! 3. **Condition** of the host: who applies it, usage, deletion, maintenance, variables, errors,
//!    state, annotations. Except who applies it and maintenance, these are the checks of Cluster API's Metal3 provider: a
//!    cluster cannot use a host that it would not choose. Machines of Provisionings require the
//!    opposite state, an installed operating system ([`RequiredSystem`]).
//! 4. **Addresses** on the interfaces that services use. Only a host that is otherwise free is
//!    worth the work of adding network data.
//! 5. **Topology**: another host of the node set is in the same domain, or all are in another one. It
//!    comes last because nothing is wrong with the host.
//!
//! Every caller evaluates the part of that list that it has the facts for:
//!
//! | caller | function | rules |
//! | --- | --- | --- |
//! | lists of refused hosts, `explain` | [`refusal()`] | all |
//! | causes of a shortage | [`objections`] | all except ownership and topology |
//! | choice and spare hosts, by `equivalence` | [`unmet`] | requirements, addresses |
//! | violations of retained hosts | [`unmet`] | requirements, without addresses |
//! | choice, host states, lint | [`unusable`] | condition |
//!
//! The choice itself enforces ownership by [`Availability`], and topology by its flow.
//!
//! A machine of a Provisioning may name its host by MAC address. Then the MAC address alone counts:
//! the labelSelector, the hardware, addresses and annotations do not matter. A host of unknown state
//! is accepted, but one that is known to have no operating system is refused. The request reader warns about unmet requirements of a named host.

mod availability;
mod needs;
mod refusal;
mod rules;

pub(super) use availability::Availability;
pub(super) use needs::PoolKey;
pub(crate) use needs::{Needs, RequiredSystem};
pub(super) use refusal::Refusal;
pub(super) use rules::{INSTALLED_STATES, insufficient, is_ready, objections, refusal};
pub(crate) use rules::{unmet, unusable};
