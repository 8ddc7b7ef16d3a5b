//! The repo map: which sources a repository has, and which scope each becomes.
