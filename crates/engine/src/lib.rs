//! Placeholder of the first commit; see docs/architecture.md.
