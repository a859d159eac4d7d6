
BgammaJ†;K¼CAW½®4´,ó¼¨