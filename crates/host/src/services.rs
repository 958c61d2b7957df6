//! What one skill is granted, and what one call of its tools gets.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bailiwick_core::{
    BoxFuture, CallContext, CancelToken, Capability, HostCall, HostCalls, SkillError, SkillName,
    contain_panic, one_line,
};
use serde_json::Value;

use crate::error::HostError;
use crate::member::{MAX_SHOWN, MemberCall, Needs};
use crate::registry::Registry;
use crate::roots::Roots;
use crate::scope::CallScope;

/// A capability and the rule that grants it.
#[derive(Clone, Debug)]
pub struct Grant {
    capability: Capability,
    origin: String,
}

impl Grant {
    /// Names a capability and, for messages, where the grant is written.
    pub fn new(capability: Capability, origin: impl Into<String>) -> Self {
        Self {
            capability,
            origin: origin.into(),
        }
    }

    /// Returns the capability.
    pub fn capability(&self) -> &Capability {
        &self.capability
    }

    /// Returns where the grant is written.
    pub fn origin(&self) -> &str {
        &self.origin
    }
}

/// What a loaded skill, or one of its tools, may ask of the host.
///
/// # Examples
///
/// ```
/// use bailiwick_core::{CallContext, CancelToken, HostCall, HostCalls};
/// use bailiwick_host::{Registry, Roots, Services};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let (registry, skill) = (Registry::standard()?, "notes".parse()?);
/// let services = Services::new(registry, skill, Vec::new(), Roots::none())?;
/// let host = services.for_call(&CallContext::new("/"))?;
/// let call = HostCall::new("fs.read", vec![json!("a.txt")], CancelToken::new());
/// let denied = host.begin(call).await.unwrap_err();
/// assert_eq!(
///     denied.model_text(),
///     "E_SKILL_ISOLATED_CAPABILITY_DENIED: `fs.read` is not granted to `notes`",
/// );
/// # Ok::<_, Box<dyn std::error::Error>>(()) })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Services {
    registry: Registry,
    skill: SkillName,
    grants: Arc<[Grant]>,
    roots: Arc<Roots>,
}

impl Services {
    /// Combines what a host offers with what a skill is granted of it.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` for a grant that names nothing.
    pub fn new(
        registry: Registry,
        skill: SkillName,
        grants: Vec<Grant>,
        roots: Roots,
    ) -> Result<Self, SkillError> {
        grants
            .iter()
            .try_for_each(|grant| registry.check_grant(grant))?;
        Ok(Self {
            registry,
            skill,
            grants: grants.into(),
            roots: Arc::new(roots),
        })
    }

    /// Returns whether a capability is granted: by its own name, or its namespace's.
    pub fn grants_capability(&self, capability: &Capability) -> bool {
        self.grants
            .iter()
            .any(|grant| grant.capability.covers(capability))
    }

    /// Makes what answers the host calls of one guest call, with quotas of its own.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` when the context's directory is not absolute.
    pub fn for_call(&self, context: &CallContext) -> Result<CallServices, SkillError> {
        let scope = CallScope::of(self.skill.clone(), context)?;
        Ok(CallServices {
            services: self.clone(),
            scope: Arc::new(scope),
            spent: self.registry.iter().map(|_| AtomicU32::new(0)).collect(),
        })
    }
}

/// Answers the host calls of one guest call.
///
/// In this order: the member exists, it is granted, its quota is not spent, the arguments match;
/// only then does its handler run.
pub struct CallServices {
    services: Services,
    scope: Arc<CallScope>,
    /// How often each member was called, in the order of the registry.
    spent: Box<[AtomicU32]>,
}

impl CallServices {
    fn admit(&self, call: HostCall) -> Result<Admitted, SkillError> {
        let services = &self.services;
        let found = services
            .registry
            .iter()
            .zip(&self.spent)
            .find(|(member, _)| member.name().as_str() == call.member);
        let Some((member, spent)) = found else {
            return Err(HostError::UnknownMember {
                member: one_line(&call.member, MAX_SHOWN),
                nearest: services.registry.nearest_member(&call.member),
            }
            .into());
        };
        let name = member.name();
        if !services.grants_capability(name) {
            let held = |grant: &Grant| (grant.capability.clone(), grant.origin.clone());
            return Err(HostError::NotGranted {
                member: name.clone(),
                skill: services.skill.clone(),
                granted: services.grants.iter().map(held).collect(),
            }
            .into());
        }
        if let Some(quota) = member.quota() {
            let within = spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |calls| {
                (calls < quota).then_some(calls + 1)
            });
            if within.is_err() {
                let member = name.clone();
                return Err(HostError::QuotaSpent { member, quota }.into());
            }
        }
        let arguments = member.check(call.arguments)?;
        let roots = match member.needs() {
            Needs::Roots => Arc::clone(&services.roots),
            Needs::Nothing => Arc::new(Roots::none()),
        };
        let cancel = call.cancel.clone();
        let answer = member.answer(MemberCall {
            member: name.clone(),
            arguments,
            scope: Arc::clone(&self.scope),
            roots,
            cancel: call.cancel,
        });
        Ok(Admitted {
            member: name.clone(),
            answer,
            cancel,
        })
    }
}

struct Admitted {
    member: Capability,
    answer: BoxFuture<'static, Result<Value, SkillError>>,
    cancel: CancelToken,
}

impl HostCalls for CallServices {
    fn begin(&self, call: HostCall) -> BoxFuture<'static, Result<Value, SkillError>> {
        let admitted = self.admit(call);
        Box::pin(async move {
            let Admitted {
                member,
                answer,
                cancel,
            } = admitted?;
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(CancelToken::error()),
                answered = contain_panic(answer) => match answered {
                    Ok(answer) => answer,
                    Err(_) => Err(HostError::HandlerPanicked { member }.into()),
                },
            }
        })
    }
}

impl fmt::Debug for CallServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallServices")
            .field("scope", &self.scope)
            .field("grants", &self.services.grants)
            .finish_non_exhaustive()
    }
}
