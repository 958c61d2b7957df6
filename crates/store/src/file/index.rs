//! What is known about artifacts, in SQLite.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bailiwick_core::{Artifact, ArtifactId, ArtifactSource, Digest, NewArtifact, SkillName};
use rusqlite::types::Type;
use rusqlite::{
    Connection, OpenFlags, OptionalExtension as _, Row, Transaction, TransactionBehavior, params,
};

use crate::config::LEAST_CHARGE;
use crate::error::StoreError;
use crate::file::folder::Folder;
use crate::moment::{from_millis, to_millis};

/// The index of a folder, over one connection.
pub(crate) struct Index(Mutex<Connection>);

impl Index {
    /// Opens the index and makes it when it is not there; one process at a time.
    pub(crate) fn open(folder: &Folder) -> Result<Self, StoreError> {
        let _turn = folder.opening()?;
        // Made here and not by SQLite, which would let the umask decide who can read it.
        folder
            .touch(NAME)
            .map_err(StoreError::io("make the index"))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut connection =
            Connection::open_with_flags(folder.path_of(NAME), flags).map_err(failed("open"))?;
        connection.busy_timeout(PATIENCE).map_err(failed("open"))?;
        check_version(&connection, folder)?;
        connection
            .pragma_update(None, "journal_mode", "WAL")
            .and_then(|()| connection.pragma_update(None, "synchronous", "NORMAL"))
            .map_err(failed("be opened for several processes"))?;
        create(&mut connection).map_err(failed("be made"))?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Adds an artifact, unless its skill would then keep more than its quota.
    pub(crate) fn insert(
        &self,
        artifact: &Artifact,
        wanted: u64,
        quota: u64,
    ) -> Result<(), StoreError> {
        let mut connection = self.connection();
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed("begin a change"))?;
        within_quota(&transaction, artifact, wanted, quota)?;
        insert(&transaction, artifact)
            .and_then(|()| transaction.commit())
            .map_err(failed("add an artifact"))
    }

    /// Refuses an artifact that would not fit into its skill's quota.
    pub(crate) fn check_quota(
        &self,
        artifact: &Artifact,
        wanted: u64,
        quota: u64,
    ) -> Result<(), StoreError> {
        within_quota(&self.connection(), artifact, wanted, quota)
    }

    /// Returns what is known of an artifact, expired or not.
    pub(crate) fn find(&self, id: &ArtifactId) -> Result<Option<Artifact>, StoreError> {
        self.connection()
            .prepare_cached(&format!("SELECT {COLUMNS} FROM artifacts WHERE id = ?1"))
            .and_then(|mut found| found.query_row([id.as_str()], artifact).optional())
            .map_err(failed("look up an artifact"))
    }

    /// Lists what has not expired, newest first.
    pub(crate) fn list(&self, now: SystemTime) -> Result<Vec<Artifact>, StoreError> {
        let connection = self.connection();
        let mut found = connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM artifacts WHERE expires > ?1 ORDER BY place DESC"
            ))
            .map_err(failed("list artifacts"))?;
        found
            .query_map([stored(now)], artifact)
            .and_then(Iterator::collect)
            .map_err(failed("list artifacts"))
    }

    /// Forgets an artifact.
    pub(crate) fn remove(&self, id: &ArtifactId) -> Result<(), StoreError> {
        self.connection()
            .execute("DELETE FROM artifacts WHERE id = ?1", [id.as_str()])
            .map(drop)
            .map_err(failed("remove an artifact"))
    }

    /// Forgets what has expired, and returns the digests that it referred to.
    pub(crate) fn expire(&self, now: SystemTime) -> Result<Vec<Digest>, StoreError> {
        let connection = self.connection();
        // Asked first: most of the time there is nothing, and then nobody is made to wait.
        let any: bool = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM artifacts WHERE expires <= ?1)")
            .and_then(|mut any| any.query_row([stored(now)], |row| row.get(0)))
            .map_err(failed("look for expired artifacts"))?;
        if !any {
            return Ok(Vec::new());
        }
        connection
            .prepare_cached("DELETE FROM artifacts WHERE expires <= ?1 RETURNING digest")
            .and_then(|mut gone| {
                gone.query_map([stored(now)], |row| parsed(row, 0))?
                    .collect()
            })
            .map_err(failed("forget expired artifacts"))
    }

    /// Returns whether any artifact refers to a digest, expired or not.
    pub(crate) fn refers(&self, digest: &Digest) -> Result<bool, StoreError> {
        self.connection()
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM artifacts WHERE digest = ?1)")
            .and_then(|mut any| any.query_row([digest.to_string()], |row| row.get(0)))
            .map_err(failed("look up bytes"))
    }

    /// Returns every digest that an artifact refers to.
    pub(crate) fn digests(&self) -> Result<HashSet<Digest>, StoreError> {
        let connection = self.connection();
        let mut found = connection
            .prepare("SELECT DISTINCT digest FROM artifacts")
            .map_err(failed("list bytes"))?;
        found
            .query_map([], |row| parsed(row, 0))
            .and_then(Iterator::collect)
            .map_err(failed("list bytes"))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic rolls its transaction back, so the connection is as good as before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").finish_non_exhaustive()
    }
}

/// Refuses an index that another program made, or a version of ours that knows more.
fn check_version(connection: &Connection, folder: &Folder) -> Result<(), StoreError> {
    let pragma = |name| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .map_err(failed("be read"))
    };
    let (program, version) = (pragma("application_id")?, pragma("user_version")?);
    let reason = match (program, version) {
        // Nobody's yet: `touch` made it, or a crash came before the tables.
        (0, 0) if pragma("schema_version")? == 0 => return Ok(()),
        (PROGRAM, 1..=VERSION) => return Ok(()),
        (PROGRAM, _) => format!("its index is of version {version}, newer than {VERSION}"),
        (_, _) => "its index belongs to another program".to_owned(),
    };
    Err(StoreError::Folder {
        path: folder.path_of(NAME),
        reason,
    })
}

fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", PROGRAM)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

fn within_quota(
    connection: &Connection,
    artifact: &Artifact,
    wanted: u64,
    quota: u64,
) -> Result<(), StoreError> {
    let used: i64 = connection
        .prepare_cached(
            "SELECT COALESCE(SUM(MAX(size, ?1)), 0) FROM artifacts WHERE skill = ?2 AND expires > ?3",
        )
        .and_then(|mut sum| {
            let skill = artifact.source.skill.as_str();
            let values = params![signed(LEAST_CHARGE), skill, stored(artifact.created)];
            sum.query_row(values, |row| row.get(0))
        })
        .map_err(failed("add up what a skill keeps"))?;
    let used = u64::try_from(used).unwrap_or(0);
    if used.saturating_add(wanted) > quota {
        return Err(StoreError::Quota {
            skill: artifact.source.skill.clone(),
            used,
            wanted,
            quota,
        });
    }
    Ok(())
}

fn insert(transaction: &Transaction<'_>, artifact: &Artifact) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(&format!(
            "INSERT INTO artifacts ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
        ))?
        .execute(params![
            artifact.id.as_str(),
            artifact.kind,
            artifact.media_type,
            artifact.name,
            signed(artifact.size),
            signed(artifact.lines),
            artifact.digest.to_string(),
            artifact.source.skill.as_str(),
            artifact.source.tool.as_str(),
            stored(artifact.created),
            stored(artifact.expires),
        ])
        .map(drop)
}

/// Reads an artifact from the columns of [`COLUMNS`].
fn artifact(row: &Row<'_>) -> rusqlite::Result<Artifact> {
    let skill: SkillName = parsed(row, 7)?;
    let source = ArtifactSource::new(skill, parsed(row, 8)?);
    let (kind, media_type): (String, String) = (row.get(1)?, row.get(2)?);
    let name: Option<String> = row.get(3)?;
    let mut new = NewArtifact::new(&[], &kind, source).media_type(&media_type);
    new.name = name.as_deref();
    let mut artifact = Artifact::describe(parsed(row, 0)?, &new, time(row, 9)?, Duration::ZERO);
    artifact.size = number(row, 4)?;
    artifact.lines = number(row, 5)?;
    artifact.digest = parsed(row, 6)?;
    artifact.expires = time(row, 10)?;
    Ok(artifact)
}

/// Parses a text by its type's one way in, which an index that somebody edited must pass too.
fn parsed<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    row.get::<_, String>(column)?
        .parse()
        .map_err(|error: T::Err| {
            rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
        })
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Integer, Box::new(error))
    })
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<SystemTime> {
    Ok(from_millis(number(row, column)?))
}

fn stored(time: SystemTime) -> i64 {
    signed(to_millis(time))
}

/// SQLite's integers are signed; no size or time of ours comes near the border.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn failed(action: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |source| StoreError::Index {
        action,
        source: source.into(),
    }
}

const NAME: &str = "index.db";
/// "BLWK", so that the file says whose it is.
const PROGRAM: i64 = 0x424C_574B;
const VERSION: i64 = 1;
/// How long a change waits for another process's.
const PATIENCE: Duration = Duration::from_secs(30);

/// `place` orders artifacts by their arrival: times may repeat, and clocks step back.
const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS artifacts (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    media_type TEXT NOT NULL,
    name TEXT,
    size INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    digest TEXT NOT NULL,
    skill TEXT NOT NULL,
    tool TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS artifacts_by_digest ON artifacts (digest);
CREATE INDEX IF NOT EXISTS artifacts_by_skill ON artifacts (skill, expires, size);
CREATE INDEX IF NOT EXISTS artifacts_by_expiry ON artifacts (expires);
";

const COLUMNS: &str =
    "id, kind, media_type, name, size, lines, digest, skill, tool, created, expires";
