//! `CoDel`, FQ-CoDel and `DualPI2` beside the pseudocode of their RFCs, step by step, and beside what ns-3's test suites expect of them.

mod codel;
mod compare;
mod dualpi2;
mod fq_codel;
mod ns3;
