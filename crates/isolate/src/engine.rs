//! The engine: pool, stacks, ticker and the cache of compiled code.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;
use wasmtime::{
    Cache, CacheConfig, Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig,
};

use crate::error::IsolateError;
use crate::limits::Limits;
use crate::private::make_private;
use crate::program::Program;
use crate::ticker::Ticker;

/// How an [`Engine`] is set up; start with `EngineSettings::default()`.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    slots: u32,
    memory: usize,
    stack: u32,
    fuel: bool,
    cache: Option<PathBuf>,
}

impl Default for EngineSettings {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            slots: 64,
            memory: limits.memory,
            stack: limits.stack,
            fuel: false,
            cache: None,
        }
    }
}

impl EngineSettings {
    /// Sets how many guests may live at the same time; more wait for their turn. 64 by default.
    #[must_use]
    pub fn slots(mut self, slots: u32) -> Self {
        self.slots = slots.max(1);
        self
    }

    /// Sets the most linear memory, in bytes, that a call's [`Limits`] may give. 64 MiB by default.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the most stack, in bytes, that a call's [`Limits`] may give its language. 512 KiB by
    /// default. The native stack of each guest is 32 times as large, which is address space and
    /// not memory.
    #[must_use]
    pub fn stack(mut self, bytes: u32) -> Self {
        self.stack = bytes;
        self
    }

    /// Sets whether fuel can be counted, which slows guests by a tenth or two. Off by default, and
    /// then a call whose limits name fuel is refused.
    #[must_use]
    pub fn fuel(mut self, is_counted: bool) -> Self {
        self.fuel = is_counted;
        self
    }

    /// Names the folder in which compiled code is kept. It is made if it is not there; one that
    /// others may write is refused, because what is found in it runs as this process's own code.
    /// None by default: code is compiled in each process.
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    pub(crate) fn counts_fuel(&self) -> bool {
        self.fuel
    }

    fn config(&self) -> Result<Config, IsolateError> {
        let wasm_stack = self.stack as usize * NATIVE_PER_GUEST_STACK;
        let mut pool = PoolingAllocationConfig::new();
        pool.total_memories(self.slots)
            .total_core_instances(self.slots)
            .total_tables(self.slots)
            .total_stacks(self.slots)
            .max_unused_warm_slots(self.slots)
            .max_memory_size(self.memory)
            .table_elements(POOL_TABLE)
            .linear_memory_keep_resident(1 << 20)
            .table_keep_resident(64 << 10)
            .async_stack_keep_resident(64 << 10)
            .pagemap_scan(Enabled::Auto);
        let mut config = Config::new();
        config
            .epoch_interruption(true)
            .consume_fuel(self.fuel)
            .max_wasm_stack(wasm_stack)
            .async_stack_size(wasm_stack + HOST_STACK)
            .memory_init_cow(true)
            .wasm_backtrace_max_frames(None)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        if let Some(folder) = &self.cache {
            make_private(folder).map_err(IsolateError::cache)?;
            let mut cache = CacheConfig::new();
            cache.with_directory(folder);
            let cache = Cache::new(cache).map_err(IsolateError::cache)?;
            config.cache(Some(cache));
        }
        Ok(config)
    }
}

/// Runs guests; cheap to clone.
///
/// It holds the pool from which each call takes a fresh instance, and the thread that lets running
/// guests look up. Nothing of a call survives in it.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) ticker: Ticker,
    pub(crate) slots: Semaphore,
    pub(crate) settings: EngineSettings,
}

impl Engine {
    /// Reserves the pool and starts the ticker.
    ///
    /// # Errors
    ///
    /// `E_INVALID_SKILLS_CONFIG` when the pool does not fit into this process's address space, or
    /// the cache's folder cannot be used.
    pub fn new(settings: EngineSettings) -> Result<Self, IsolateError> {
        let wasmtime = wasmtime::Engine::new(&settings.config()?).map_err(IsolateError::engine)?;
        let ticker = Ticker::start(wasmtime.clone()).map_err(IsolateError::engine)?;
        Ok(Self(Arc::new(Inner {
            wasmtime,
            ticker,
            slots: Semaphore::new(settings.slots as usize),
            settings,
        })))
    }

    /// Compiles a guest, or takes it from the cache; it blocks while it does.
    ///
    /// # Errors
    ///
    /// `E_SKILL_ISOLATED_GUEST_INVALID` for bytes that are no wasm, and for a module that imports
    /// or exports other things than a guest does.
    pub fn compile(&self, wasm: &[u8]) -> Result<Program, IsolateError> {
        Program::compile(self, wasm)
    }

    /// Lowers limits to what this engine can hold a guest to.
    #[must_use]
    pub fn fit(&self, mut limits: Limits) -> Limits {
        let EngineSettings {
            memory,
            stack,
            fuel,
            ..
        } = self.0.settings;
        limits.memory = limits.memory.min(memory);
        limits.stack = limits.stack.min(stack);
        limits.table = limits.table.min(POOL_TABLE);
        limits.fuel = limits.fuel.filter(|_| fuel);
        limits
    }

    /// Returns how limits are beyond what this engine can hold a guest to, if they are.
    pub(crate) fn excess(&self, limits: &Limits) -> Option<String> {
        let fit = self.fit(*limits);
        if limits.fuel != fit.fuel {
            Some("`fuel` is limited and this engine counts none".to_owned())
        } else if limits.memory > fit.memory {
            Some(format!("`memory` can be at most {} bytes", fit.memory))
        } else if limits.stack > fit.stack {
            Some(format!("`stack` can be at most {} bytes", fit.stack))
        } else if limits.table > fit.table {
            Some(format!("`table` can be at most {} elements", fit.table))
        } else {
            None
        }
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}

/// Native stack for each byte of stack that the guest's language may use. Below 18, deep recursion
/// in the engine's own C code ends in a trap before the language's check sees it; measured, with
/// room to spare, and held by the tests of `bailiwick-quickjs`.
const NATIVE_PER_GUEST_STACK: usize = 32;

/// Native stack that host functions may use above the guest's.
const HOST_STACK: usize = 1 << 20;

/// Elements that a table of the pool can hold; a call's own limit is lower or the same.
const POOL_TABLE: usize = 100_000;
