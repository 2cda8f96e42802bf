"""Parts of gen_cupti_tables.py: what CUDA's headers say about CUPTI's calls and records, as tables in C."""
