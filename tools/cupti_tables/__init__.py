"""Parts of gen_cupti_tables.py: CUPTI's calls and records from CUDA's headers, as tables in C."""
