(By0J(Ta0SN,`Y_`1bZ<a[TY@_U1[a
>>
